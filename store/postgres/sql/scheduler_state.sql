SELECT fleet_id, memory::text, coalesce(latch::text, ''), ticked FROM scheduler_state WHERE id = 1;
