SELECT job_id, number, worker_id, status, started_at, finished_at, code, reason
FROM job_attempts WHERE job_id = @id ORDER BY number;
