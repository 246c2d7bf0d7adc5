UPDATE workers SET drain_deadline = NULL, status = CASE WHEN status <> 'draining' THEN status
    WHEN last_heartbeat IS NULL THEN 'provisioning' ELSE 'active' END
WHERE id = @id AND status <> 'terminated' AND left_at IS NULL AND terminate_at IS NULL;
