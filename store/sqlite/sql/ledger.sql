-- name: scheduler_state
SELECT fleet_id, memory, latch, ticked FROM scheduler_state WHERE id = 1

-- name: scheduler_requests
SELECT document FROM scheduler_requests ORDER BY at, id

-- name: insert_decision
INSERT INTO scaling_decisions (id, tick, at, kind, queue, worker_id, document) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (id) DO UPDATE SET document = excluded.document

-- name: accrued_until
SELECT accrued_until FROM workers WHERE id = ?1

-- name: insert_entry
INSERT INTO spend_entries (at, worker_id, provider, instance_type, zone, market, queue, kind, from_at, until_at, amount, note)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) ON CONFLICT DO NOTHING

-- name: set_accrued
UPDATE workers SET accrued_until = max(coalesce(accrued_until, 0), ?2) WHERE id = ?1

-- name: set_memory
UPDATE scheduler_state SET ticked = ?1, memory = coalesce(?2, memory) WHERE id = 1

-- name: delete_request
DELETE FROM scheduler_requests WHERE id = ?1

-- name: trip
UPDATE scheduler_state SET latch = coalesce(latch, ?1) WHERE id = 1

-- name: reset_latch
UPDATE scheduler_state SET latch = NULL WHERE id = 1

-- name: insert_request
INSERT INTO scheduler_requests (id, at, document) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING

-- Entries that lie between two times as a whole.
-- name: spent_within
SELECT coalesce(sum(amount), 0) FROM spend_entries INDEXED BY spend_until
WHERE until_at >= ?1 AND until_at <= ?2 AND from_at >= ?1 AND from_at < ?2

-- Those across an edge.
-- name: spent_across
SELECT from_at, until_at, amount FROM spend_entries INDEXED BY spend_until
WHERE until_at > ?1 AND from_at < ?2 AND (from_at < ?1 OR until_at > ?2)

-- Sums of entries by provider, queue and quarter of an hour, at whose edges alone
-- a day of any time zone begins. An entry across such an edge stays by itself.
-- name: spending
SELECT provider, queue, min(from_at), max(until_at), sum(amount) FROM spend_entries
WHERE until_at >= ?1 AND from_at < ?2 AND (until_at > ?1 OR from_at = until_at)
GROUP BY provider, queue, from_at / 900000,
  iif(from_at / 900000 = max(until_at - 1, from_at) / 900000 AND from_at >= ?1 AND until_at <= ?2, 0, id)

-- All that was booked for one worker, the corrections in it, and where it was last.
-- name: booked
SELECT coalesce(sum(amount), 0), coalesce(sum(iif(kind = 'correction', amount, 0)), 0), count(*),
  coalesce((SELECT json_array(provider, instance_type, zone, market) FROM spend_entries WHERE id = (
    SELECT max(id) FROM spend_entries WHERE worker_id = ?1)), '[]')
FROM spend_entries WHERE worker_id = ?1

-- name: entries
SELECT id, at, worker_id, provider, instance_type, zone, market, queue, kind, from_at, until_at, amount, note
FROM spend_entries WHERE id < ?1 ORDER BY id DESC LIMIT ?2

-- name: decision
SELECT document FROM scaling_decisions WHERE id = ?1

-- name: decision_seq
SELECT seq FROM scaling_decisions WHERE id = ?1

-- name: decisions
SELECT document FROM scaling_decisions
WHERE seq < ?1 AND (?3 = '' OR kind = ?3) AND (?4 = '' OR queue = ?4) AND (?5 = '' OR worker_id = ?5) AND (?6 = '' OR tick = ?6)
ORDER BY seq DESC LIMIT ?2

-- name: decisions_of_worker
SELECT document FROM scaling_decisions INDEXED BY decisions_worker
WHERE seq < ?1 AND worker_id = ?5 AND worker_id <> '' AND (?3 = '' OR kind = ?3) AND (?4 = '' OR queue = ?4) AND (?6 = '' OR tick = ?6)
ORDER BY seq DESC LIMIT ?2

-- name: decisions_of_tick
SELECT document FROM scaling_decisions INDEXED BY decisions_tick
WHERE seq < ?1 AND tick = ?6 AND (?3 = '' OR kind = ?3) AND (?4 = '' OR queue = ?4) AND (?5 = '' OR worker_id = ?5)
ORDER BY seq DESC LIMIT ?2

-- name: decisions_of_kind
SELECT document FROM scaling_decisions INDEXED BY decisions_kind
WHERE seq < ?1 AND kind = ?3 AND (?4 = '' OR queue = ?4) AND (?5 = '' OR worker_id = ?5) AND (?6 = '' OR tick = ?6)
ORDER BY seq DESC LIMIT ?2

-- name: decisions_of_queue
SELECT document FROM scaling_decisions INDEXED BY decisions_queue
WHERE seq < ?1 AND queue = ?4 AND (?3 = '' OR kind = ?3) AND (?5 = '' OR worker_id = ?5) AND (?6 = '' OR tick = ?6)
ORDER BY seq DESC LIMIT ?2

-- name: prune_decisions
DELETE FROM scaling_decisions WHERE seq IN (
  SELECT seq FROM scaling_decisions WHERE kind = ?1 AND at < ?2 ORDER BY at LIMIT ?3)

-- name: prune_entries
DELETE FROM spend_entries WHERE id IN (SELECT id FROM spend_entries WHERE until_at < ?1 ORDER BY until_at LIMIT ?2)
