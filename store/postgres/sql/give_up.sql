-- Fails jobs that have been ready for longer than their limit.
WITH due AS MATERIALIZED (
    SELECT id FROM processing_jobs
    WHERE ready AND give_up_at IS NOT NULL AND give_up_at <= {now}
    ORDER BY give_up_at LIMIT @most FOR NO KEY UPDATE SKIP LOCKED
), failed AS (
    UPDATE processing_jobs j SET state = 'failed', ready = false, finished_at = {now}, give_up_at = NULL,
        code = @code, reason = @reason, version = j.version + 1
    FROM due WHERE j.id = due.id
    RETURNING j.id, j.queue, j.state, j.ready, j.webhook
), outbox AS (
    INSERT INTO job_webhooks (job_id, url, due_at)
    SELECT id, webhook, {now} FROM failed WHERE webhook <> ''
    ON CONFLICT (job_id) DO UPDATE SET url = excluded.url, attempts = 0, due_at = excluded.due_at, done_at = NULL, failure = ''
)
SELECT id, queue, state, ready FROM failed;
