-- Ends a worker's row, and says whether somebody asked for the end of its machine.
UPDATE workers SET status = 'terminated', current_jobs = 0,
    terminated_at = CASE WHEN status = 'terminated' THEN coalesce(terminated_at, @at) ELSE @at END
WHERE id = @id
RETURNING terminate_at IS NOT NULL;
