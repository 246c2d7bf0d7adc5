SELECT key, value::text, number, worker_id, created_at FROM job_checkpoints
WHERE job_id = @id AND key > @after ORDER BY key LIMIT @most;
