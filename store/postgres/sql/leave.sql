UPDATE workers SET status = 'terminated', terminated_at = coalesce(terminated_at, {now}), current_jobs = 0
WHERE id = @id;
