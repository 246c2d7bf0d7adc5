-- Each of the queues: ready jobs by priority with the oldest, long ones by
-- priority and whether they resume, running ones, and of the latest 100 attempts
-- that came to an end of their own (among the latest 300) the mean time, the
-- failures, and all. Rows are compared as such, and not the queue alone, so that
-- the planner reads the index from its end whatever it thinks of the table.
SELECT q.name, r.priorities, r.depths, r.oldest, l.priorities, l.resumes, l.depths,
    (SELECT count(*) FROM processing_jobs j WHERE j.state = 'running' AND j.queue = q.name),
    a.mean, a.failed, a.finished
FROM unnest(@queues::text[]) WITH ORDINALITY AS q (name, place)
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(d.priority), '{}') AS priorities, coalesce(array_agg(d.depth), '{}') AS depths,
        coalesce(array_agg({now} - d.oldest), '{}') AS oldest
    FROM (SELECT j.priority, count(*) AS depth, min(j.eligible_at) AS oldest FROM processing_jobs j
          WHERE j.ready AND j.queue = q.name AND j.priority > 0 GROUP BY j.priority) d
) r
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(d.priority), '{}') AS priorities, coalesce(array_agg(d.checkpointable), '{}') AS resumes,
        coalesce(array_agg(d.depth), '{}') AS depths
    FROM (SELECT j.priority, j.checkpointable, count(*) AS depth FROM processing_jobs j
          WHERE j.ready AND j.queue = q.name AND j.estimated_seconds > 1800 GROUP BY j.priority, j.checkpointable) d
) l
CROSS JOIN LATERAL (
    SELECT coalesce(avg(e.finished_at - e.started_at), interval '0') AS mean,
        count(*) FILTER (WHERE e.status = 'failed') AS failed, count(*) AS finished
    FROM (SELECT l.status, l.started_at, l.finished_at FROM (
              SELECT t.status, t.started_at, t.finished_at FROM job_attempts t
              WHERE (t.queue, t.finished_at) >= (q.name, '-infinity'::timestamptz)
                  AND (t.queue, t.finished_at) <= (q.name, 'infinity'::timestamptz)
                  AND t.queue <> '' AND t.finished_at IS NOT NULL
              ORDER BY t.queue DESC, t.finished_at DESC LIMIT 300) l
          WHERE l.status IN ('succeeded', 'failed') ORDER BY l.finished_at DESC LIMIT 100) e
) a
ORDER BY q.place;
