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
), tagged AS (
    -- jobs.FairTag, one job of a tenant after the other.
    SELECT seat.id, greatest({last}, {head}) + sum({cost}) OVER (
        PARTITION BY seat.queue, seat.rank, seat.tenant ORDER BY seat.eligible_at, seat.id) AS tag
    FROM due JOIN processing_jobs seat USING (id)
)
UPDATE processing_jobs j SET ready = true, version = j.version + 1, fair_tag = t.tag
FROM tagged t WHERE j.id = t.id
RETURNING j.id, j.queue, j.state, j.ready;
