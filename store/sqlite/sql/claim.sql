-- name: worker_active
SELECT EXISTS (SELECT 1 FROM workers WHERE id = ?1 AND status = 'active')

-- The lowest of the heads of all queues, each found by one look into jobs_ready;
-- ?2 is the highest rank.
-- name: claim_head
SELECT j.id
FROM json_each(?1) q CROSS JOIN processing_jobs j ON j.id = (
  SELECT h.id FROM processing_jobs h INDEXED BY jobs_ready
  WHERE h.queue = q.value AND h.ready = 1 AND h.lost_leases < 2 AND h.rank <= ?2
  ORDER BY h.rank, h.fair_tag, h.id LIMIT 1)
ORDER BY j.rank, j.fair_tag, j.id LIMIT 1

-- The same for a spot machine, by the routing of jobs.Market.Allowed. Ranks 1 to
-- 3 are its priorities 1 to 3, which ageing never changes, so the look begins
-- behind them; long jobs without checkpoints are passed by one after the other.
-- name: claim_head_spot
SELECT j.id
FROM json_each(?1) q CROSS JOIN processing_jobs j ON j.id = (
  SELECT h.id FROM processing_jobs h INDEXED BY jobs_ready
  WHERE h.queue = q.value AND h.ready = 1 AND h.lost_leases < 2 AND h.rank >= 4 AND h.rank <= ?2
    AND h.priority > 3 AND (h.estimated_seconds <= 1800 OR h.checkpointable = 1)
  ORDER BY h.rank, h.fair_tag, h.id LIMIT 1)
ORDER BY j.rank, j.fair_tag, j.id LIMIT 1

-- What is given to a worker that holds nothing else: jobs.Suspect. ?3 is the
-- worker's market.
-- name: claim_suspect
SELECT id FROM processing_jobs INDEXED BY jobs_suspect
WHERE ready = 1 AND lost_leases >= 2 AND queue IN (SELECT value FROM json_each(?1)) AND rank <= ?2
  AND (?3 <> 'spot' OR priority > 3 AND (estimated_seconds <= 1800 OR checkpointable = 1))
ORDER BY rank, fair_tag, id LIMIT 1

-- name: claim
UPDATE processing_jobs
SET state = 'running', ready = 0, worker_id = ?2, lease_token = ?3, lease_until = ?4, started_at = ?5,
    deliveries = deliveries + 1, version = version + 1, code = '', reason = ''
WHERE id = ?1 AND ready = 1
RETURNING {job}

-- name: insert_attempt
INSERT INTO job_attempts (job_id, number, worker_id, status, started_at, queue) VALUES (?1, ?2, ?3, 'running', ?4, ?5)

-- Pulses are a JSON array of [id, token, done, total, note], the last three null
-- where nothing is reported. Only progress is a change that a reader sees.
-- name: beat
UPDATE processing_jobs
SET lease_until = ?3,
    progress_done = coalesce(p.done, progress_done), progress_total = coalesce(p.total, progress_total),
    progress_note = coalesce(p.note, progress_note), version = version + (p.done IS NOT NULL)
FROM (SELECT value ->> 0 AS id, value ->> 1 AS token, value ->> 2 AS done, value ->> 3 AS total, value ->> 4 AS note
      FROM json_each(?1)) p
WHERE processing_jobs.id = p.id AND lease_token = p.token AND state = 'running' AND worker_id = ?2
RETURNING processing_jobs.id

-- name: worker_alive
UPDATE workers SET last_heartbeat = ?2, current_jobs = ?3 WHERE id = ?1

-- name: signals
SELECT status, drain_deadline, max_rank, EXISTS (
    SELECT 1 FROM processing_jobs INDEXED BY jobs_suspect
    WHERE ready = 1 AND lost_leases >= 2 AND queue IN (SELECT value FROM json_each(w.queues)) AND (w.max_rank = 0 OR rank <= w.max_rank)
      AND (w.market <> 'spot' OR priority > 3 AND (estimated_seconds <= 1800 OR checkpointable = 1)))
FROM workers w WHERE id = ?1

-- name: signals_cancel
SELECT id FROM processing_jobs WHERE worker_id = ?1 AND state = 'running' AND cancel_asked = 1 ORDER BY id

-- name: lease_holder
SELECT deliveries, worker_id FROM processing_jobs WHERE id = ?1 AND lease_token = ?2 AND state = 'running'

-- name: insert_checkpoint
INSERT INTO job_checkpoints (job_id, key, value, number, worker_id, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING

-- name: checkpoints
SELECT key, value, number, worker_id, created_at FROM job_checkpoints
WHERE job_id = ?1 AND key > ?2 ORDER BY key LIMIT ?3
