UPDATE workers SET status = 'draining', drain_deadline = {now} + @within::bigint * interval '1 microsecond'
WHERE id = @id AND status <> 'terminated';
