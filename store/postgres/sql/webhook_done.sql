-- Ends a notice or, with @again, puts it off.
UPDATE job_webhooks SET attempts = attempts + 1, failure = @failure,
    due_at = {now} + @again::bigint * interval '1 microsecond',
    done_at = CASE WHEN @again::bigint <= 0 THEN {now} END
WHERE job_id = @id AND done_at IS NULL AND due_at = @until::timestamptz;
