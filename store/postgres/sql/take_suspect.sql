-- Takes the one job that is given to a worker which holds nothing else
-- (jobs.Suspect), when there is one and the worker is active.
WITH chosen AS MATERIALIZED (
    SELECT j.id FROM processing_jobs j
    WHERE j.ready AND j.lost >= 2 AND j.queue = ANY (@queues::text[])
        AND j.rank <= @max_rank::smallint
        AND (NOT @spot::bool OR j.priority > 3 AND (j.estimated_seconds <= 1800 OR j.checkpointable))
        AND EXISTS (SELECT 1 FROM workers w WHERE w.id = @worker AND w.status = 'active')
    ORDER BY j.rank, j.fair_tag, j.id
    LIMIT 1
    FOR NO KEY UPDATE SKIP LOCKED
), taken AS (
    UPDATE processing_jobs j SET
        state = 'running', ready = false, worker_id = @worker, started_at = {now},
        lease_token = gen_random_uuid()::text, lease_until = {now} + @lease::bigint * interval '1 microsecond',
        deliveries = j.deliveries + 1, code = '', reason = '', version = j.version + 1
    FROM chosen WHERE j.id = chosen.id
    RETURNING j.*
), begun AS (
    INSERT INTO job_attempts (job_id, number, worker_id, status, started_at, queue)
    SELECT id, deliveries, worker_id, 'running', started_at, queue FROM taken
)
SELECT {job} FROM taken WHERE {quick} ORDER BY rank, fair_tag, id;
