-- The jobs that have any of the keys.
SELECT {job} FROM processing_jobs WHERE idempotency_key = ANY (@idempotency_keys::text[])
UNION ALL
SELECT {job} FROM processing_jobs
WHERE unique_key = ANY (@unique_keys::text[]) AND state IN ('queued', 'running')
    AND (idempotency_key IS NULL OR idempotency_key <> ALL (@idempotency_keys::text[]));
