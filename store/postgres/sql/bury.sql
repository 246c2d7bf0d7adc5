-- Terminates workers that were silent for too long. Those of a scheduler's
-- machines are ended by it, when it sees that they left.
UPDATE workers SET
    status = CASE WHEN provisioned_at IS NULL THEN 'terminated' ELSE 'draining' END,
    terminated_at = CASE WHEN provisioned_at IS NULL THEN {now} END,
    drain_deadline = CASE WHEN provisioned_at IS NULL THEN drain_deadline ELSE least(coalesce(drain_deadline, {now}), {now}) END,
    left_at = {now}, current_jobs = 0
WHERE id IN (
    SELECT id FROM workers
    WHERE status IN ('active', 'draining') AND left_at IS NULL
        AND last_heartbeat < {now} - @after::bigint * interval '1 microsecond'
    ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)
RETURNING id;
