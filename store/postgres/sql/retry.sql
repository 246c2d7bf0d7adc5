-- Queues a failed or cancelled job anew. What was still to be told of its end
-- is not true any more.
WITH untold AS (
    DELETE FROM job_webhooks WHERE job_id = @id AND done_at IS NULL
)
UPDATE processing_jobs j SET state = 'queued', ready = true, rank = j.priority, attempts = 0, lost = 0, cancel_asked = false,
    eligible_at = {now}, give_up_at = CASE WHEN j.wait_limit > interval '0' THEN {now} + j.wait_limit END,
    finished_at = NULL, result = NULL, code = '', reason = '', version = j.version + 1,
    -- jobs.FairTag
    fair_tag = least(greatest(j.estimated_seconds, 1), 3600) + greatest(0, (
        SELECT h.fair_tag FROM processing_jobs h WHERE h.ready AND h.queue = j.queue AND h.rank = j.priority
        ORDER BY h.fair_tag, h.id LIMIT 1), (
        SELECT h.fair_tag FROM processing_jobs h
        WHERE h.ready AND h.queue = j.queue AND h.rank = j.priority AND h.tenant = j.tenant
        ORDER BY h.fair_tag DESC LIMIT 1))
WHERE j.id = @id AND j.state IN ('failed', 'cancelled')
RETURNING {job};
