UPDATE scheduler_state SET ticked = {now}, memory = coalesce(@memory::text::json, memory) WHERE id = 1;
