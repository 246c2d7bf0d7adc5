-- The first job of each queue that an active worker of this market may take,
-- and that lies behind the place where the queue was left; the lowest first.
SELECT q.queue, h.rank, h.fair_tag, h.id
FROM workers w
CROSS JOIN unnest(@queues::text[], @ranks::smallint[], @tags::float8[], @ids::bigint[]) AS q (queue, rank, fair_tag, id)
CROSS JOIN LATERAL (
    SELECT j.rank, j.fair_tag, j.id FROM processing_jobs j
    WHERE j.ready AND j.queue = q.queue AND (j.rank, j.fair_tag, j.id) > (q.rank, q.fair_tag, q.id)
        AND j.lost < 2
        AND (NOT @spot::bool OR j.priority > 3 AND (j.estimated_seconds <= 1800 OR j.checkpointable))
    ORDER BY j.rank, j.fair_tag, j.id LIMIT 1
) h
WHERE w.id = @worker AND w.status = 'active'
ORDER BY h.rank, h.fair_tag, h.id;
