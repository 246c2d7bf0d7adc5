-- Queues with jobs that are not final, by one look for each and kind.
-- name: busy_queues
WITH RECURSIVE
ready (queue) AS (
  SELECT min(queue) FROM processing_jobs WHERE ready = 1
  UNION ALL
  SELECT (SELECT min(queue) FROM processing_jobs WHERE ready = 1 AND queue > ready.queue)
  FROM ready WHERE ready.queue IS NOT NULL),
delayed (queue) AS (
  SELECT min(queue) FROM processing_jobs WHERE state = 'queued' AND ready = 0
  UNION ALL
  SELECT (SELECT min(queue) FROM processing_jobs WHERE state = 'queued' AND ready = 0 AND queue > delayed.queue)
  FROM delayed WHERE delayed.queue IS NOT NULL),
running (queue) AS (
  SELECT min(queue) FROM processing_jobs WHERE state = 'running'
  UNION ALL
  SELECT (SELECT min(queue) FROM processing_jobs WHERE state = 'running' AND queue > running.queue)
  FROM running WHERE running.queue IS NOT NULL)
SELECT queue FROM (SELECT queue FROM ready UNION SELECT queue FROM delayed UNION SELECT queue FROM running)
WHERE queue IS NOT NULL ORDER BY queue

-- name: depth
SELECT rank, count(*) FROM (
  SELECT rank FROM processing_jobs INDEXED BY jobs_ready
  WHERE queue = ?1 AND ready = 1 ORDER BY rank LIMIT ?2)
GROUP BY rank

-- name: delayed
SELECT count(*) FROM (SELECT 1 FROM processing_jobs WHERE queue = ?1 AND state = 'queued' AND ready = 0 LIMIT ?2)

-- name: running
SELECT count(*) FROM (SELECT 1 FROM processing_jobs WHERE queue = ?1 AND state = 'running' LIMIT ?2)

-- Since when the job has waited that became ready first, and the same of
-- priorities 1 to 3: one look for each pair of a priority and a rank.
-- name: oldest
WITH number (n) AS (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10)),
pair (priority, since) AS (
  SELECT p.n, (SELECT min(j.eligible_at) FROM processing_jobs j
               WHERE j.queue = ?1 AND j.ready = 1 AND j.priority = p.n AND j.rank = r.n)
  FROM number p CROSS JOIN number r WHERE r.n = p.n OR r.n BETWEEN 4 AND p.n)
SELECT min(since), min(since) FILTER (WHERE priority <= 3) FROM pair
