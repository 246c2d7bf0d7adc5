-- Queues a failed or cancelled job anew. What was still to be told of its end
-- is not true any more.
WITH untold AS (
    DELETE FROM job_webhooks WHERE job_id = @id AND done_at IS NULL
), tagged AS (
    SELECT seat.id, greatest({last}, {head}) + {cost} AS tag FROM (
        SELECT id, queue, priority AS rank, tenant, estimated_seconds FROM processing_jobs WHERE id = @id) seat
), again AS (
    UPDATE processing_jobs j SET state = 'queued', ready = true, rank = j.priority, attempts = 0, lost = 0, cancel_asked = false,
        eligible_at = {now}, give_up_at = CASE WHEN j.wait_limit > interval '0' THEN {now} + j.wait_limit END,
        finished_at = NULL, result = NULL, code = '', reason = '', version = j.version + 1, fair_tag = t.tag
    FROM tagged t WHERE j.id = t.id AND j.state IN ('failed', 'cancelled')
    RETURNING j.*
)
SELECT {job} FROM again;
