-- What an end is decided on. ?2 is the token.
-- name: running_under
SELECT {job}, cancel_reason FROM processing_jobs WHERE id = ?1 AND lease_token = ?2 AND state = 'running'

-- The same without a living lease; an empty token is that of a job that has none.
-- name: expired_under
SELECT {job}, cancel_reason FROM processing_jobs
WHERE id = ?1 AND coalesce(lease_token, '') = ?2 AND state = 'running'
  AND (lease_until IS NULL OR lease_until <= ?3 OR lease_token IS NULL)

-- name: end_job
UPDATE processing_jobs
SET state = ?2, ready = 0, finished_at = ?3, attempts = ?4, lost_leases = ?5, result = ?6, code = ?7, reason = ?8,
    lease_token = NULL, lease_until = NULL, cancel_asked = 0, cancel_reason = '', version = version + 1
WHERE id = ?1

-- name: requeue_job
UPDATE processing_jobs
SET state = 'queued', ready = ?2, fair_tag = ?3, eligible_at = ?4, attempts = ?5, lost_leases = ?6, code = ?7, reason = ?8,
    lease_token = NULL, lease_until = NULL, version = version + 1
WHERE id = ?1

-- name: set_progress
UPDATE processing_jobs SET progress_done = ?2, progress_total = ?3, progress_note = ?4 WHERE id = ?1

-- name: end_attempt
UPDATE job_attempts SET status = ?3, finished_at = ?4, code = ?5, reason = ?6 WHERE job_id = ?1 AND number = ?2

-- name: worker_completed
UPDATE workers SET last_job_completed_at = ?2 WHERE id = ?1

-- name: insert_webhook
INSERT INTO job_webhooks (job_id, url, due_at) VALUES (?1, ?2, ?3)
ON CONFLICT (job_id) DO UPDATE SET url = excluded.url, due_at = excluded.due_at, attempts = 0, failure = ''
