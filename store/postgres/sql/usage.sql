-- What attempts between two times took on machines with a cost, in seconds, and
-- cost, in ten-thousandths of a cent: a slot has its share of its machine.
-- Attempts that have ended are found queue by queue, those that run by their jobs.
WITH RECURSIVE names AS (
    (SELECT queue FROM job_attempts WHERE finished_at IS NOT NULL AND queue <> '' ORDER BY queue LIMIT 1)
    UNION ALL
    SELECT (SELECT a.queue FROM job_attempts a WHERE a.finished_at IS NOT NULL AND a.queue <> '' AND a.queue > n.queue
            ORDER BY a.queue LIMIT 1)
    FROM names n WHERE n.queue IS NOT NULL
), spell AS (
    SELECT a.queue, a.job_id, a.worker_id, least(a.finished_at, @until, {now}) - greatest(a.started_at, @from) AS took
    FROM names n CROSS JOIN LATERAL (
        SELECT * FROM job_attempts t
        WHERE t.queue = n.queue AND t.queue <> '' AND t.finished_at IS NOT NULL AND t.finished_at > @from::timestamptz
        OFFSET 0) a -- for each queue by itself: the planner knows too little to join them
    WHERE a.started_at < @until::timestamptz
    UNION ALL
    SELECT j.queue, j.id, j.worker_id, least(@until, {now}) - greatest(j.started_at, @from)
    FROM processing_jobs j WHERE j.state = 'running' AND j.started_at < @until::timestamptz
)
SELECT j.tenant, s.queue, count(DISTINCT s.job_id), extract(epoch FROM sum(s.took))::float8,
    round(sum(extract(epoch FROM s.took)::numeric * w.cost_per_hour_cents * 10000 / greatest(w.slots, 1)) / 3600)::bigint
FROM spell s JOIN workers w ON w.id = s.worker_id JOIN processing_jobs j ON j.id = s.job_id
WHERE w.cost_per_hour_cents > 0 AND s.took > interval '0'
GROUP BY j.tenant, s.queue ORDER BY j.tenant, s.queue;
