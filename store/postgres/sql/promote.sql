-- Makes delayed jobs ready whose time has come.
WITH RECURSIVE queues AS (
    (SELECT queue FROM processing_jobs WHERE state = 'queued' AND NOT ready ORDER BY queue LIMIT 1)
    UNION ALL
    SELECT (SELECT j.queue FROM processing_jobs j WHERE j.state = 'queued' AND NOT j.ready AND j.queue > q.queue
            ORDER BY j.queue LIMIT 1)
    FROM queues q WHERE q.queue IS NOT NULL
), due AS MATERIALIZED (
    SELECT d.* FROM queues q CROSS JOIN LATERAL (
        SELECT j.id, j.queue, j.rank, j.tenant, j.eligible_at, j.estimated_seconds FROM processing_jobs j
        WHERE j.state = 'queued' AND NOT j.ready AND j.queue = q.queue AND j.eligible_at <= {now}
        ORDER BY j.eligible_at LIMIT @most FOR NO KEY UPDATE SKIP LOCKED) d
    ORDER BY d.eligible_at LIMIT @most
), lanes AS (
    SELECT l.*, greatest(0, (
            SELECT h.fair_tag FROM processing_jobs h WHERE h.ready AND h.queue = l.queue AND h.rank = l.rank
            ORDER BY h.fair_tag, h.id LIMIT 1), (
            SELECT h.fair_tag FROM processing_jobs h
            WHERE h.ready AND h.queue = l.queue AND h.rank = l.rank AND h.tenant = l.tenant
            ORDER BY h.fair_tag DESC LIMIT 1)) AS tag
    FROM (SELECT DISTINCT queue, rank, tenant FROM due) l
), tagged AS (
    -- jobs.FairTag of one after the other
    SELECT d.id, d.rank, l.tag + sum(least(greatest(d.estimated_seconds, 1), 3600))
        OVER (PARTITION BY d.queue, d.rank, d.tenant ORDER BY d.eligible_at, d.id) AS tag
    FROM due d JOIN lanes l USING (queue, rank, tenant)
)
UPDATE processing_jobs j SET ready = true, version = j.version + 1, fair_tag = t.tag
FROM tagged t WHERE j.id = t.id
RETURNING j.id, j.queue, j.state, j.ready;
