-- name: ready_queues
WITH RECURSIVE names (queue) AS (
  SELECT min(queue) FROM processing_jobs WHERE ready = 1
  UNION ALL
  SELECT (SELECT min(queue) FROM processing_jobs WHERE ready = 1 AND queue > names.queue)
  FROM names WHERE names.queue IS NOT NULL)
SELECT queue FROM names WHERE queue IS NOT NULL

-- Jobs of one queue that are to be of a lower rank by now: one look into
-- jobs_age for each pair of a priority and a rank that it may have come to.
-- name: to_age
WITH number (n) AS (VALUES (4), (5), (6), (7), (8), (9), (10))
SELECT j.id, j.priority, j.rank, j.tenant, j.estimated_seconds, j.eligible_at
FROM number p CROSS JOIN number r CROSS JOIN processing_jobs j
WHERE r.n >= 5 AND r.n <= p.n
  AND j.queue = ?1 AND j.ready = 1 AND j.priority = p.n AND j.rank = r.n
  AND j.eligible_at <= ?2 - (p.n - r.n + 1) * ?3
LIMIT ?4

-- name: age
UPDATE processing_jobs SET rank = ?2, fair_tag = ?3, version = version + 1 WHERE id = ?1 AND ready = 1

-- name: to_prune
SELECT id FROM processing_jobs
WHERE state = ?1 AND finished_at IS NOT NULL AND finished_at <= ?2
ORDER BY finished_at LIMIT ?3

-- Some of a job's checkpoints: there may be thousands.
-- name: prune_checkpoints
DELETE FROM job_checkpoints WHERE job_id = ?1 AND key IN (
  SELECT key FROM job_checkpoints WHERE job_id = ?1 ORDER BY key LIMIT ?2)

-- name: prune_attempts
DELETE FROM job_attempts WHERE job_id = ?1

-- name: prune_params
DELETE FROM job_params WHERE job_id = ?1

-- name: prune_webhook
DELETE FROM job_webhooks WHERE job_id = ?1

-- name: prune_job
DELETE FROM processing_jobs WHERE id = ?1

-- name: prune_metrics
DELETE FROM worker_metrics WHERE (worker_id, at) IN (
  SELECT worker_id, at FROM worker_metrics WHERE at < ?1 ORDER BY at LIMIT ?2)

-- Metrics of a worker go before the worker does.
-- name: prune_workers
DELETE FROM workers WHERE id IN (
  SELECT w.id FROM workers w WHERE w.terminated_at IS NOT NULL AND w.terminated_at <= ?1
    AND NOT EXISTS (SELECT 1 FROM worker_metrics m WHERE m.worker_id = w.id)
  ORDER BY w.terminated_at LIMIT ?2)

-- Those of a scheduler's machines are ended by it, when it sees that they left.
-- name: bury_workers
UPDATE workers
SET status = iif(provisioned_at IS NULL, 'terminated', 'draining'), terminated_at = iif(provisioned_at IS NULL, ?1, NULL),
    drain_deadline = iif(provisioned_at IS NULL, drain_deadline, min(coalesce(drain_deadline, ?1), ?1)),
    left_at = ?1, current_jobs = 0
WHERE terminated_at IS NULL AND left_at IS NULL AND status IN ('active', 'draining') AND last_heartbeat < ?2
RETURNING id
