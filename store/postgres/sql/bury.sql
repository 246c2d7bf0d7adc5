-- Terminates workers that were silent for too long.
UPDATE workers SET status = 'terminated', terminated_at = {now}, current_jobs = 0
WHERE id IN (
    SELECT id FROM workers
    WHERE status IN ('active', 'draining') AND last_heartbeat < {now} - @after::bigint * interval '1 microsecond'
    ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)
RETURNING id;
