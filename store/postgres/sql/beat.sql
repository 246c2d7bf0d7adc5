-- Extends the leases that hold, writes their progress, marks the worker as
-- alive, and answers which are lost. Rows are locked in the order of their
-- numbers, as wherever several are. The commit does not wait for the disk.
WITH pulse AS MATERIALIZED (
    SELECT * FROM unnest(@ids::bigint[], @tokens::text[], @news::bool[], @dones::bigint[], @totals::bigint[], @notes::text[])
        AS p (id, token, news, done, total, note)
), held AS MATERIALIZED (
    SELECT j.id FROM processing_jobs j JOIN pulse p ON j.id = p.id AND j.lease_token = p.token
    WHERE j.state = 'running'
    ORDER BY j.id FOR NO KEY UPDATE OF j
), beat AS (
    UPDATE processing_jobs j SET
        lease_until = {now} + @lease::bigint * interval '1 microsecond',
        progress_done = CASE WHEN p.news THEN p.done ELSE j.progress_done END,
        progress_total = CASE WHEN p.news THEN p.total ELSE j.progress_total END,
        progress_note = CASE WHEN p.news THEN p.note ELSE j.progress_note END,
        version = j.version + p.news::int
    FROM held JOIN pulse p ON p.id = held.id
    WHERE j.id = held.id AND j.state = 'running' AND j.lease_token = p.token
    RETURNING j.id
), alive AS (
    UPDATE workers SET last_heartbeat = {now}, current_jobs = (SELECT count(*) FROM beat)
    WHERE id = @worker AND status <> 'terminated'
)
SELECT p.id FROM pulse p WHERE {quick} AND NOT EXISTS (SELECT 1 FROM beat b WHERE b.id = p.id) ORDER BY p.id;
