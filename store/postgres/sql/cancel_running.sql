-- Asks the worker of a job to stop it. The reason stays on the job until it
-- ends.
UPDATE processing_jobs SET cancel_asked = true, code = @code, reason = @reason, version = version + 1
WHERE id = @id AND state = 'running' AND NOT cancel_asked
RETURNING {job};
