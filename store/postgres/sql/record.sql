INSERT INTO worker_metrics (worker_id, at, cpu_percent, memory_bytes, memory_limit, jobs_running)
SELECT id, {now}, @cpu, @memory, @memory_limit, @running FROM workers WHERE id = @id;
