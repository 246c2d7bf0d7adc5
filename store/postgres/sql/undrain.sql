UPDATE workers SET status = CASE WHEN status = 'draining' THEN 'active' ELSE status END, drain_deadline = NULL
WHERE id = @id AND status <> 'terminated';
