UPDATE workers SET max_rank = @max_rank WHERE id = @id AND status <> 'terminated';
