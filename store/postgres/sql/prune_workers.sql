-- Deletes up to @most workers that ended long ago, and what is left of their
-- metrics.
WITH gone AS (
    DELETE FROM workers WHERE id IN (
        SELECT id FROM workers
        WHERE status = 'terminated' AND terminated_at <= {now} - @keep::bigint * interval '1 microsecond'
        ORDER BY terminated_at LIMIT @most FOR UPDATE SKIP LOCKED)
    RETURNING id
)
DELETE FROM worker_metrics WHERE ctid = ANY (array(
    SELECT m.ctid FROM gone JOIN worker_metrics m ON m.worker_id = gone.id LIMIT @most));
