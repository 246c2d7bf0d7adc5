-- Every queue that has jobs which are not final, found by hopping from name to
-- name; each count stops one beyond @most. Depths are by rank; of the ready
-- jobs, the oldest of each (rank, priority) is the first entry of an index.
WITH RECURSIVE waiting AS (
    (SELECT queue FROM processing_jobs WHERE ready ORDER BY queue LIMIT 1)
    UNION ALL
    SELECT (SELECT j.queue FROM processing_jobs j WHERE j.ready AND j.queue > q.queue ORDER BY j.queue LIMIT 1)
    FROM waiting q WHERE q.queue IS NOT NULL
), delayed AS (
    (SELECT queue FROM processing_jobs WHERE state = 'queued' AND NOT ready ORDER BY queue LIMIT 1)
    UNION ALL
    SELECT (SELECT j.queue FROM processing_jobs j WHERE j.state = 'queued' AND NOT j.ready AND j.queue > q.queue
            ORDER BY j.queue LIMIT 1)
    FROM delayed q WHERE q.queue IS NOT NULL
), running AS (
    (SELECT queue FROM processing_jobs WHERE state = 'running' ORDER BY queue LIMIT 1)
    UNION ALL
    SELECT (SELECT j.queue FROM processing_jobs j WHERE j.state = 'running' AND j.queue > q.queue ORDER BY j.queue LIMIT 1)
    FROM running q WHERE q.queue IS NOT NULL
), names AS (
    SELECT queue FROM waiting WHERE queue IS NOT NULL
    UNION SELECT queue FROM delayed WHERE queue IS NOT NULL
    UNION SELECT queue FROM running WHERE queue IS NOT NULL
)
SELECT n.queue, r.ranks, r.depths,
    (SELECT count(*) FROM (SELECT 1 FROM processing_jobs j
        WHERE j.state = 'queued' AND NOT j.ready AND j.queue = n.queue LIMIT @most + 1) c),
    (SELECT count(*) FROM (SELECT 1 FROM processing_jobs j
        WHERE j.state = 'running' AND j.queue = n.queue LIMIT @most + 1) c),
    coalesce(greatest({now} - o.any_rank, interval '0'), interval '0'),
    coalesce(greatest({now} - o.interactive, interval '0'), interval '0')
FROM names n
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(d.rank ORDER BY d.rank), '{}') AS ranks, coalesce(array_agg(d.depth ORDER BY d.rank), '{}') AS depths
    FROM (SELECT c.rank, count(*) AS depth
          FROM (SELECT j.rank FROM processing_jobs j WHERE j.ready AND j.queue = n.queue
                ORDER BY j.rank, j.fair_tag, j.id LIMIT @most + 1) c
          GROUP BY c.rank) d
) r
CROSS JOIN LATERAL (
    SELECT min(e.eligible_at) AS any_rank, min(e.eligible_at) FILTER (WHERE k.rank <= 3) AS interactive
    FROM generate_series(1, 10) AS k (rank)
    CROSS JOIN LATERAL generate_series(k.rank, CASE WHEN k.rank <= 3 THEN k.rank ELSE 10 END) AS p (priority)
    CROSS JOIN LATERAL (
        SELECT j.eligible_at FROM processing_jobs j
        WHERE j.ready AND j.queue = n.queue AND j.rank = k.rank AND j.priority = p.priority AND j.priority > 0
        ORDER BY j.eligible_at LIMIT 1) e
) o
ORDER BY n.queue;
