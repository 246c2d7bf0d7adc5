-- Ends a job whose worker is gone.
WITH ended AS (
    UPDATE processing_jobs SET state = 'cancelled', finished_at = {now}, give_up_at = NULL, cancel_asked = false,
        lost = lost + 1, lease_token = NULL, lease_until = NULL, code = @code, reason = @reason, version = version + 1
    WHERE id = @id AND state = 'running'
    RETURNING *
), attempted AS (
    UPDATE job_attempts a SET status = 'lost', finished_at = {now}, code = @code, reason = @reason
    FROM ended e WHERE a.job_id = e.id AND a.number = e.deliveries
), outbox AS (
    INSERT INTO job_webhooks (job_id, url, due_at) SELECT id, webhook, {now} FROM ended WHERE webhook <> ''
    ON CONFLICT (job_id) DO UPDATE SET url = excluded.url, attempts = 0, due_at = excluded.due_at, done_at = NULL, failure = ''
)
SELECT {job} FROM ended;
