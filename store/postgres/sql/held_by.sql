SELECT {job} FROM processing_jobs WHERE state = 'running' AND worker_id = @id ORDER BY id FOR NO KEY UPDATE;
