-- A machine that a scheduler started is there until it has seen it gone.
UPDATE workers SET
    status = CASE WHEN provisioned_at IS NULL OR status = 'terminated' THEN 'terminated' ELSE 'draining' END,
    terminated_at = CASE WHEN provisioned_at IS NULL THEN coalesce(terminated_at, {now}) ELSE terminated_at END,
    drain_deadline = CASE WHEN provisioned_at IS NULL THEN drain_deadline ELSE least(coalesce(drain_deadline, {now}), {now}) END,
    left_at = coalesce(left_at, {now}), current_jobs = 0
WHERE id = @id;
