-- name: job
id, type, queue, priority, tenant, input,
coalesce(params, (SELECT p.params FROM job_params p WHERE p.job_id = processing_jobs.id), '{}'),
coalesce(idempotency_key, ''), coalesce(unique_key, ''), max_attempts, wait_limit_ms, work_limit_ms,
estimated_seconds, checkpointable, webhook, state, rank, fair_tag, version,
created_at, eligible_at, started_at, finished_at, attempts, deliveries, lost_leases, cancel_asked,
worker_id, coalesce(lease_token, ''), lease_until, progress_done, progress_total, progress_note,
result, code, reason

-- name: job_by_id
SELECT {job} FROM processing_jobs WHERE id = ?1

-- name: list_all
SELECT {job} FROM processing_jobs
WHERE id < ?1 AND (?2 = '' OR queue = ?2) AND (?3 = '' OR type = ?3) AND (?4 = '' OR state = ?4)
ORDER BY id DESC LIMIT ?5

-- name: list_queued
SELECT {job} FROM processing_jobs INDEXED BY jobs_queued
WHERE id < ?1 AND (?2 = '' OR queue = ?2) AND (?3 = '' OR type = ?3) AND state = 'queued' AND ?4 = 'queued'
ORDER BY id DESC LIMIT ?5

-- name: list_running
SELECT {job} FROM processing_jobs INDEXED BY jobs_running
WHERE id < ?1 AND (?2 = '' OR queue = ?2) AND (?3 = '' OR type = ?3) AND state = 'running' AND ?4 = 'running'
ORDER BY id DESC LIMIT ?5

-- name: list_dead
SELECT {job} FROM processing_jobs INDEXED BY jobs_dead
WHERE id < ?1 AND (?2 = '' OR queue = ?2) AND (?3 = '' OR type = ?3)
  AND state = ?4 AND state IN ('failed', 'cancelled')
ORDER BY id DESC LIMIT ?5

-- name: list_tenant
SELECT {job} FROM processing_jobs INDEXED BY jobs_tenant
WHERE id < ?1 AND (?2 = '' OR queue = ?2) AND (?3 = '' OR type = ?3) AND (?4 = '' OR state = ?4)
  AND tenant = ?6 AND tenant <> ''
ORDER BY id DESC LIMIT ?5

-- name: attempts
SELECT number, worker_id, status, started_at, finished_at, code, reason
FROM job_attempts WHERE job_id = ?1 ORDER BY number

-- name: versions
SELECT id, version FROM processing_jobs WHERE id IN (SELECT value FROM json_each(?1))
