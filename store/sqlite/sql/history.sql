-- Jobs that ended from ?1 until before ?2. One that was given out more than once
-- has an eligible_at of its last attempt.
-- name: history
SELECT iif(deliveries > 1, created_at, eligible_at), queue, priority, finished_at - started_at, estimated_seconds, checkpointable,
       state = 'failed'
FROM processing_jobs INDEXED BY jobs_finished
WHERE state IN ('succeeded', 'failed') AND finished_at >= ?1 AND finished_at < ?2 AND started_at IS NOT NULL
