UPDATE workers SET status = 'draining', terminate_at = coalesce(terminate_at, {now}),
    drain_deadline = least(coalesce(drain_deadline, {now}), {now})
WHERE id = @id AND status <> 'terminated';
