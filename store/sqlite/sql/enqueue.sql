-- name: by_idempotency_key
SELECT id FROM processing_jobs WHERE idempotency_key = ?1

-- name: by_unique_key
SELECT id FROM processing_jobs WHERE unique_key = ?1 AND state IN ('queued', 'running')

-- The last tag of the tenant and the head of everybody: see jobs.FairTag.
-- name: tags
SELECT
  coalesce((SELECT max(fair_tag) FROM processing_jobs WHERE queue = ?1 AND rank = ?2 AND tenant = ?3 AND ready = 1), 0),
  coalesce((SELECT min(fair_tag) FROM processing_jobs WHERE queue = ?1 AND rank = ?2 AND ready = 1), 0)

-- name: insert_job
INSERT INTO processing_jobs (
  type, queue, priority, rank, fair_tag, tenant, state, ready, created_at, eligible_at, max_attempts,
  wait_limit_ms, work_limit_ms, estimated_seconds, checkpointable, idempotency_key, unique_key, webhook, input, params
) VALUES (?, ?, ?, ?, ?, ?, 'queued', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: insert_params
INSERT INTO job_params (job_id, params) VALUES (?1, ?2)
