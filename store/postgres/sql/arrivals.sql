-- Jobs that came within the window, by queue. Numbers grow with time, so the
-- first of them is found by halving, and nothing before it is read. The upper
-- bound is there for the planner, which takes half a range for a third of all rows.
WITH RECURSIVE edge AS (
    SELECT min(id) - 2 AS lo, max(id) AS hi FROM processing_jobs
    UNION ALL
    SELECT CASE WHEN h.old THEN h.mid ELSE h.lo END, CASE WHEN h.old THEN h.hi ELSE h.mid END FROM (
        SELECT e.lo, e.hi, (e.lo + e.hi) / 2 AS mid, coalesce(
            (SELECT j.created_at < {now} - @window::bigint * interval '1 microsecond' FROM processing_jobs j
             WHERE j.id > (e.lo + e.hi) / 2 ORDER BY j.id LIMIT 1), false) AS old
        FROM edge e WHERE e.hi - e.lo > 1) h
)
SELECT j.queue, count(*) FROM processing_jobs j
WHERE j.id > (SELECT min(hi) FROM edge) AND j.id <= (SELECT max(id) FROM processing_jobs)
    AND j.created_at >= {now} - @window::bigint * interval '1 microsecond'
GROUP BY j.queue;
