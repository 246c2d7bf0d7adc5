-- Deletes up to @most metrics older than a day.
DELETE FROM worker_metrics WHERE ctid = ANY (array(
    SELECT ctid FROM worker_metrics WHERE at < {now} - interval '1 day'
    ORDER BY at LIMIT @most FOR UPDATE SKIP LOCKED));
