-- Workers that are not terminated, or were since ?1, or are among the ids ?2 (a
-- JSON array), with the jobs that name them and their last metric. Who was never
-- heard has not registered.
-- name: fleet
SELECT w.id, w.provider, w.instance_type, w.zone, w.market, w.instance_id, w.queues, w.slots, w.status,
       coalesce(c.claimed, 0), w.current_jobs, w.provisioned_at, w.launched_at, iif(w.last_heartbeat IS NULL, NULL, w.registered_at),
       w.last_heartbeat, w.last_job_completed_at, w.drain_deadline, w.left_at, w.terminate_at, w.accrued_until, w.keep_until,
       w.origin, w.cost_per_hour_cents, w.cost_ceiling, w.granularity_ms, m.cpu_percent, m.at, w.max_rank, w.request,
       w.terminated_at
FROM workers w
LEFT JOIN (SELECT worker_id, count(*) AS claimed FROM processing_jobs INDEXED BY jobs_running
           WHERE state = 'running' GROUP BY worker_id) c ON c.worker_id = w.id
LEFT JOIN worker_metrics m ON m.worker_id = w.id AND m.at = (SELECT max(at) FROM worker_metrics WHERE worker_id = w.id)
WHERE w.terminated_at IS NULL OR w.terminated_at >= ?1 OR w.id IN (SELECT value FROM json_each(?2)) ORDER BY w.id

-- name: provision
INSERT INTO workers (id, provider, instance_type, zone, region, market, queues, slots, cost_per_hour_cents, cost_ceiling,
                     granularity_ms, keep_until, accrued_until, origin, max_rank, request, status, registered_at, provisioned_at)
VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, 'provisioning', ?16, ?16)
ON CONFLICT (id) DO NOTHING

-- name: attach
UPDATE workers
SET instance_id = coalesce(nullif(?2, ''), instance_id), provider = ?3, instance_type = ?4, zone = ?5, region = ?5, market = ?6,
    launched_at = coalesce(?7, launched_at), cost_per_hour_cents = ?8, cost_ceiling = ?9, granularity_ms = ?10
WHERE id = ?1

-- name: terminating
UPDATE workers
SET status = 'draining', terminate_at = coalesce(terminate_at, ?2), drain_deadline = min(coalesce(drain_deadline, ?2), ?2)
WHERE id = ?1 AND terminated_at IS NULL

-- name: terminate_at
SELECT terminate_at FROM workers WHERE id = ?1

-- name: gone
UPDATE workers SET status = 'terminated', terminated_at = ?2, current_jobs = 0 WHERE id = ?1 AND terminated_at IS NULL

-- name: held_by
SELECT {job}, cancel_reason FROM processing_jobs INDEXED BY jobs_running WHERE state = 'running' AND worker_id = ?1 ORDER BY id

-- name: restrict
UPDATE workers SET max_rank = ?2 WHERE id = ?1

-- name: demand_depth
SELECT priority, count(*), min(eligible_at) FROM processing_jobs INDEXED BY jobs_age
WHERE queue = ?1 AND ready = 1 GROUP BY priority

-- name: demand_long
SELECT priority, checkpointable, count(*) FROM processing_jobs INDEXED BY jobs_long
WHERE queue = ?1 AND ready = 1 AND estimated_seconds > 1800 GROUP BY priority, checkpointable

-- name: demand_running
SELECT count(*) FROM processing_jobs INDEXED BY jobs_running WHERE queue = ?1 AND state = 'running'

-- The latest 100 attempts that came to an end of their own: the mean of their
-- times, failures, and all.
-- name: demand_attempts
SELECT coalesce(avg(finished_at - started_at), 0.0), count(*) FILTER (WHERE status = 'failed'), count(*)
FROM (SELECT status, started_at, finished_at FROM job_attempts INDEXED BY attempts_finished
      WHERE queue = ?1 AND finished_at IS NOT NULL AND queue <> '' AND status IN ('succeeded', 'failed')
      ORDER BY finished_at DESC LIMIT 100)

-- Jobs that came since ?1, by queue. Numbers grow with time, so the first of
-- them is found by halving, and nothing before it is read.
-- name: arrivals
WITH RECURSIVE edge (lo, hi) AS (
  SELECT (SELECT min(id) FROM processing_jobs) - 2, (SELECT max(id) FROM processing_jobs)
  UNION ALL
  SELECT iif(coalesce((SELECT j.created_at < ?1 FROM processing_jobs j WHERE j.id > (lo + hi) / 2 ORDER BY j.id LIMIT 1), 0),
      (lo + hi) / 2, lo),
    iif(coalesce((SELECT j.created_at < ?1 FROM processing_jobs j WHERE j.id > (lo + hi) / 2 ORDER BY j.id LIMIT 1), 0),
      hi, (lo + hi) / 2)
  FROM edge WHERE hi - lo > 1)
SELECT queue, count(*) FROM processing_jobs
WHERE id > (SELECT min(hi) FROM edge) AND created_at >= ?1 GROUP BY queue

-- What attempts between ?1 and ?2 took on machines with a cost, in milliseconds,
-- and cost, in ten-thousandths of a cent: a slot has its share of its machine.
-- Attempts that have ended are found queue by queue, those that run by their jobs.
-- name: usage
WITH RECURSIVE names (queue) AS (
  SELECT min(queue) FROM job_attempts WHERE finished_at IS NOT NULL AND queue <> ''
  UNION ALL
  SELECT (SELECT min(queue) FROM job_attempts WHERE finished_at IS NOT NULL AND queue <> '' AND queue > names.queue)
  FROM names WHERE names.queue IS NOT NULL),
spell (queue, job_id, worker_id, millis) AS (
  SELECT a.queue, a.job_id, a.worker_id, min(a.finished_at, ?2) - max(a.started_at, ?1)
  FROM names CROSS JOIN job_attempts a INDEXED BY attempts_finished
  WHERE a.queue = names.queue AND a.queue <> '' AND a.finished_at > ?1 AND a.started_at < ?2
  UNION ALL
  SELECT j.queue, j.id, j.worker_id, ?2 - max(j.started_at, ?1)
  FROM processing_jobs j INDEXED BY jobs_running WHERE j.state = 'running' AND j.started_at < ?2)
SELECT j.tenant, s.queue, count(DISTINCT s.job_id), sum(s.millis),
       sum(s.millis * (w.cost_per_hour_cents * 10000 / max(w.slots, 1))) / 3600000
FROM spell s JOIN workers w ON w.id = s.worker_id JOIN processing_jobs j ON j.id = s.job_id
WHERE w.cost_per_hour_cents > 0 AND s.millis > 0
GROUP BY j.tenant, s.queue ORDER BY j.tenant, s.queue
