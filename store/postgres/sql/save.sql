-- Stores parts of jobs whose lease holds and answers these leases; the leases
-- cannot be lost meanwhile. A part that exists stays as it is.
WITH held AS MATERIALIZED (
    SELECT j.id, j.deliveries, j.worker_id, j.lease_token FROM processing_jobs j
    JOIN unnest(@leases::bigint[], @lease_tokens::text[]) AS l (id, token) ON j.id = l.id AND j.lease_token = l.token
    WHERE j.state = 'running'
    ORDER BY j.id FOR SHARE OF j
), saved AS (
    INSERT INTO job_checkpoints (job_id, key, value, number, worker_id, created_at)
    SELECT h.id, p.key, p.value::json, h.deliveries, h.worker_id, {now}
    FROM unnest(@ids::bigint[], @tokens::text[], @keys::text[], @values::text[]) AS p (id, token, key, value)
    JOIN held h ON h.id = p.id AND h.lease_token = p.token
    ORDER BY h.id, p.key
    ON CONFLICT DO NOTHING
)
SELECT id, lease_token FROM held;
