-- Takes notices that are due and puts them off, so that nobody else takes them.
UPDATE job_webhooks SET due_at = {now} + @hold::bigint * interval '1 microsecond'
WHERE job_id IN (
    SELECT job_id FROM job_webhooks WHERE done_at IS NULL AND due_at <= {now}
    ORDER BY due_at LIMIT @most FOR NO KEY UPDATE SKIP LOCKED)
RETURNING job_id, url, attempts, due_at;
