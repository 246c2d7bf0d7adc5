-- Lowers the rank of what has been ready for long: by one for every @every, of
-- priorities 4 to 10 and never below 4. Each (rank, priority) has a time of its
-- own before which its jobs are due, so that an index leads to them.
WITH RECURSIVE queues AS (
    (SELECT queue FROM processing_jobs WHERE ready ORDER BY queue LIMIT 1)
    UNION ALL
    SELECT (SELECT j.queue FROM processing_jobs j WHERE j.ready AND j.queue > q.queue ORDER BY j.queue LIMIT 1)
    FROM queues q WHERE q.queue IS NOT NULL
), due AS MATERIALIZED (
    SELECT d.id FROM queues q
    CROSS JOIN generate_series(5, 10) AS r (rank)
    CROSS JOIN LATERAL generate_series(r.rank, 10) AS p (priority)
    CROSS JOIN LATERAL (
        SELECT j.id FROM processing_jobs j
        WHERE j.ready AND j.queue = q.queue AND j.rank = r.rank AND j.priority = p.priority AND j.priority > 0
            AND j.eligible_at <= {now} - (p.priority - r.rank + 1) * @every::bigint * interval '1 microsecond'
        ORDER BY j.eligible_at LIMIT @most FOR NO KEY UPDATE SKIP LOCKED) d
    LIMIT @most
), aged AS (
    SELECT j.id, j.queue, j.tenant, j.estimated_seconds, j.eligible_at, greatest(4, j.priority - floor(
            extract(epoch FROM {now} - j.eligible_at) * 1000000 / @every::bigint))::smallint AS rank
    FROM due JOIN processing_jobs j USING (id)
), tagged AS (
    -- jobs.FairTag in the new rank, one job of a tenant after the other.
    SELECT seat.id, seat.rank, greatest({last}, {head}) + sum({cost}) OVER (
        PARTITION BY seat.queue, seat.rank, seat.tenant ORDER BY seat.eligible_at, seat.id) AS tag
    FROM aged seat
)
UPDATE processing_jobs j SET rank = t.rank, version = j.version + 1, fair_tag = t.tag
FROM tagged t WHERE j.id = t.id AND t.rank < j.rank;
