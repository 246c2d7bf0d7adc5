-- A deadline is never made later.
UPDATE workers SET status = 'draining', drain_deadline = CASE WHEN status = 'draining'
    THEN least(coalesce(drain_deadline, {now} + @within::bigint * interval '1 microsecond'), {now} + @within::bigint * interval '1 microsecond')
    ELSE {now} + @within::bigint * interval '1 microsecond' END
WHERE id = @id AND status <> 'terminated';
