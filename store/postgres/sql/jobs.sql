-- Jobs that a filter chooses, newest first. Plans are made for the values, so
-- what is not asked for costs nothing.
SELECT {job} FROM processing_jobs
WHERE (@state = '' OR state = @state) AND (@queue = '' OR queue = @queue)
    AND (@type = '' OR type = @type) AND (@tenant = '' OR tenant = @tenant)
    AND id < @before
ORDER BY id DESC LIMIT @most;
