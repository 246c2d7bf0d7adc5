-- Takes jobs of one queue from a place on up to another, in order, and passes
-- over those that somebody else is taking. The commit does not wait for the
-- disk: a claim that a crash undoes is a job that is ready again, and the token
-- of who has it is refused.
WITH chosen AS MATERIALIZED (
    SELECT j.id FROM processing_jobs j
    WHERE j.ready AND j.queue = @queue AND j.lost < 2
        AND (j.rank, j.fair_tag, j.id) > (@from_rank::smallint, @from_tag::float8, @from_id::bigint)
        AND (j.rank, j.fair_tag, j.id) <= (@to_rank::smallint, @to_tag::float8, @to_id::bigint)
        AND (NOT @spot::bool OR j.priority > 3 AND (j.estimated_seconds <= 1800 OR j.checkpointable))
    ORDER BY j.rank, j.fair_tag, j.id
    LIMIT @n
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
