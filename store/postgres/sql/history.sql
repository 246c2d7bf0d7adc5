-- Jobs that ended from @from until before @until. One that was given out more
-- than once has an eligible_at of its last attempt.
SELECT CASE WHEN deliveries > 1 THEN created_at ELSE eligible_at END, queue, priority,
       (extract(epoch FROM finished_at - started_at) * 1000000)::bigint, estimated_seconds, checkpointable, state = 'failed'
FROM processing_jobs
WHERE state IN ('succeeded', 'failed') AND finished_at >= @from AND finished_at < @until AND started_at IS NOT NULL
