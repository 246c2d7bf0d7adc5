-- name: expired
SELECT {job} FROM processing_jobs INDEXED BY jobs_running
WHERE state = 'running' AND (lease_until IS NULL OR lease_until <= ?1 OR lease_token IS NULL)
ORDER BY coalesce(lease_until, 0), id LIMIT ?2

-- Queues with delayed jobs, by one look each.
-- name: delayed_queues
WITH RECURSIVE names (queue) AS (
  SELECT min(queue) FROM processing_jobs WHERE state = 'queued' AND ready = 0
  UNION ALL
  SELECT (SELECT min(queue) FROM processing_jobs WHERE state = 'queued' AND ready = 0 AND queue > names.queue)
  FROM names WHERE names.queue IS NOT NULL)
SELECT queue FROM names WHERE queue IS NOT NULL

-- name: due_in_queue
SELECT id, queue, rank, tenant, estimated_seconds, eligible_at FROM processing_jobs
WHERE queue = ?1 AND state = 'queued' AND ready = 0 AND eligible_at <= ?2
ORDER BY eligible_at, id LIMIT ?3

-- name: promote
UPDATE processing_jobs SET ready = 1, fair_tag = ?2, version = version + 1
WHERE id = ?1 AND state = 'queued' AND ready = 0

-- name: given_up
SELECT {job} FROM processing_jobs INDEXED BY jobs_wait
WHERE ready = 1 AND wait_limit_ms > 0 AND eligible_at + wait_limit_ms <= ?1
ORDER BY eligible_at + wait_limit_ms LIMIT ?2
