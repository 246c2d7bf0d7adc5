-- Newest first. Plans are made for the values, so what is not asked for costs
-- nothing.
SELECT document::text FROM scaling_decisions
WHERE seq < @before AND (@kind = '' OR kind = @kind) AND (@queue = '' OR queue = @queue)
    AND (@worker = '' OR worker_id = @worker AND worker_id <> '') AND (@tick = '' OR tick = @tick)
ORDER BY seq DESC LIMIT @most;
