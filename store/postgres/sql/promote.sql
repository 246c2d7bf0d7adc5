-- Makes delayed jobs ready whose time has come.
WITH RECURSIVE queues AS (
    (SELECT queue FROM processing_jobs WHERE state = 'queued' AND NOT ready ORDER BY queue LIMIT 1)
    UNION ALL
    SELECT (SELECT j.queue FROM processing_jobs j WHERE j.state = 'queued' AND NOT j.ready AND j.queue > q.queue
            ORDER BY j.queue LIMIT 1)
    FROM queues q WHERE q.queue IS NOT NULL
), due AS MATERIALIZED (
    SELECT d.id FROM queues q CROSS JOIN LATERAL (
        SELECT j.id FROM processing_jobs j
        WHERE j.state = 'queued' AND NOT j.ready AND j.queue = q.queue AND j.eligible_at <= {now}
        ORDER BY j.eligible_at LIMIT @most FOR NO KEY UPDATE SKIP LOCKED) d
    LIMIT @most
)
UPDATE processing_jobs j SET ready = true, version = j.version + 1,
    fair_tag = greatest(j.fair_tag, (
        SELECT h.fair_tag FROM processing_jobs h WHERE h.ready AND h.queue = j.queue AND h.rank = j.rank
        ORDER BY h.fair_tag, h.id LIMIT 1))
FROM due WHERE j.id = due.id
RETURNING j.id, j.queue, j.state, j.ready;
