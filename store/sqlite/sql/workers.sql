-- What the worker does not know about itself stays as the scheduler has put it;
-- of a machine that a scheduler started, that is also how it is paid for, and
-- that it is to end.
-- name: register
INSERT INTO workers (id, hostname, provider, region, instance_id, instance_type, market, queues, slots, version,
                     cost_per_hour_cents, status, registered_at, last_heartbeat)
VALUES (?1, ?2, coalesce(nullif(?3, ''), 'vps'), ?4, ?5, ?6, coalesce(nullif(?7, ''), 'vps'), ?8, ?9, ?10, ?11, 'active', ?12, ?12)
ON CONFLICT (id) DO UPDATE SET
  hostname = excluded.hostname, queues = excluded.queues, slots = excluded.slots, version = excluded.version,
  provider = iif(provisioned_at IS NULL, coalesce(nullif(?3, ''), provider), provider),
  region = iif(provisioned_at IS NULL OR region = '', coalesce(nullif(?4, ''), region), region),
  instance_id = iif(provisioned_at IS NULL OR instance_id = '', coalesce(nullif(?5, ''), instance_id), instance_id),
  instance_type = iif(provisioned_at IS NULL, coalesce(nullif(?6, ''), instance_type), instance_type),
  market = iif(provisioned_at IS NULL, coalesce(nullif(?7, ''), market), market),
  cost_per_hour_cents = iif(provisioned_at IS NULL AND ?11 > 0, ?11, cost_per_hour_cents),
  status = iif(provisioned_at IS NOT NULL AND (status = 'draining' OR terminate_at IS NOT NULL), 'draining', 'active'),
  drain_deadline = iif(provisioned_at IS NOT NULL AND (status = 'draining' OR terminate_at IS NOT NULL), drain_deadline, NULL),
  current_jobs = 0, registered_at = excluded.registered_at, last_heartbeat = excluded.last_heartbeat,
  left_at = NULL, terminated_at = NULL

-- name: record
INSERT INTO worker_metrics (worker_id, at, cpu_percent, memory_bytes, memory_limit, jobs_running)
SELECT id, ?2, ?3, ?4, ?5, ?6 FROM workers WHERE id = ?1
ON CONFLICT DO UPDATE SET cpu_percent = excluded.cpu_percent, memory_bytes = excluded.memory_bytes,
  memory_limit = excluded.memory_limit, jobs_running = excluded.jobs_running

-- A machine that a scheduler started is there until it has seen it gone.
-- name: leave
UPDATE workers
SET status = iif(provisioned_at IS NULL OR terminated_at IS NOT NULL, 'terminated', 'draining'),
    terminated_at = iif(provisioned_at IS NULL, coalesce(terminated_at, ?2), terminated_at),
    drain_deadline = iif(provisioned_at IS NULL, drain_deadline, min(coalesce(drain_deadline, ?2), ?2)),
    left_at = coalesce(left_at, ?2), current_jobs = 0
WHERE id = ?1

-- name: workers_here
SELECT id, hostname, provider, region, instance_id, instance_type, market, queues, slots, version, cost_per_hour_cents,
       status, current_jobs, registered_at, last_heartbeat, last_job_completed_at, drain_deadline, terminated_at
FROM workers WHERE terminated_at IS NULL ORDER BY registered_at, id

-- name: workers_gone
SELECT id, hostname, provider, region, instance_id, instance_type, market, queues, slots, version, cost_per_hour_cents,
       status, current_jobs, registered_at, last_heartbeat, last_job_completed_at, drain_deadline, terminated_at
FROM workers WHERE terminated_at IS NOT NULL ORDER BY terminated_at DESC, id LIMIT 200

-- name: latest_metric
SELECT at, cpu_percent, memory_bytes, memory_limit, jobs_running FROM worker_metrics
WHERE worker_id = ?1 ORDER BY at DESC LIMIT 1
