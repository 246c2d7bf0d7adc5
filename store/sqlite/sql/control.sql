-- name: job_to_change
SELECT {job}, cancel_reason FROM processing_jobs WHERE id = ?1

-- name: ask_cancel
UPDATE processing_jobs SET cancel_asked = 1, cancel_reason = ?2, version = version + 1
WHERE id = ?1 AND state = 'running' AND cancel_asked = 0

-- name: retry_job
UPDATE processing_jobs
SET state = 'queued', ready = 1, rank = priority, fair_tag = ?2, eligible_at = ?3, finished_at = NULL, attempts = 0,
    lost_leases = 0, result = NULL, code = '', reason = '', version = version + 1
WHERE id = ?1

-- A deadline is never made later.
-- name: drain_worker
UPDATE workers
SET status = 'draining', drain_deadline = iif(status = 'draining', min(coalesce(drain_deadline, ?2), ?2), ?2)
WHERE id = ?1 AND status <> 'terminated'

-- name: undrain_worker
UPDATE workers SET status = iif(last_heartbeat IS NULL, 'provisioning', 'active'), drain_deadline = NULL
WHERE id = ?1 AND status = 'draining'

-- name: worker_status
SELECT status, left_at IS NOT NULL OR terminate_at IS NOT NULL FROM workers WHERE id = ?1
