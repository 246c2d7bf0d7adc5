-- name: due_webhooks
UPDATE job_webhooks SET due_at = ?2
WHERE job_id IN (SELECT job_id FROM job_webhooks WHERE due_at IS NOT NULL AND due_at <= ?1 ORDER BY due_at LIMIT ?3)
RETURNING job_id, url, attempts, due_at

-- name: webhook_sent
DELETE FROM job_webhooks WHERE job_id = ?1 AND due_at = ?2

-- name: webhook_again
UPDATE job_webhooks SET attempts = attempts + 1, failure = ?3, due_at = ?4 WHERE job_id = ?1 AND due_at = ?2

-- name: webhook_given_up
UPDATE job_webhooks SET attempts = attempts + 1, failure = ?3, due_at = NULL WHERE job_id = ?1 AND due_at = ?2
