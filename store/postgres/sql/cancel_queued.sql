-- Ends a job that waits.
WITH ended AS (
    UPDATE processing_jobs SET state = 'cancelled', ready = false, finished_at = {now}, give_up_at = NULL,
        code = @code, reason = @reason, version = version + 1
    WHERE id = @id AND state = 'queued'
    RETURNING *
), outbox AS (
    INSERT INTO job_webhooks (job_id, url, due_at) SELECT id, webhook, {now} FROM ended WHERE webhook <> ''
    ON CONFLICT (job_id) DO UPDATE SET url = excluded.url, attempts = 0, due_at = excluded.due_at, done_at = NULL, failure = ''
)
SELECT {job} FROM ended;
