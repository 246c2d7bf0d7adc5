-- Deletes finished jobs that were kept long enough, with all that belongs to
-- them, and answers how many. What somebody has just locked stays.
WITH old AS MATERIALIZED (
    SELECT f.id FROM unnest(@states::text[], @keeps::bigint[]) AS k (state, keep) CROSS JOIN LATERAL (
        SELECT j.id FROM processing_jobs j
        WHERE j.finished_at IS NOT NULL AND j.state = k.state
            AND j.finished_at <= {now} - k.keep * interval '1 microsecond'
        ORDER BY j.finished_at LIMIT @most FOR UPDATE SKIP LOCKED) f
    LIMIT @most
), checkpoints AS (
    DELETE FROM job_checkpoints WHERE job_id IN (SELECT id FROM old)
), attempts AS (
    DELETE FROM job_attempts WHERE job_id IN (SELECT id FROM old)
), webhooks AS (
    DELETE FROM job_webhooks WHERE job_id IN (SELECT id FROM old)
), pruned AS (
    DELETE FROM processing_jobs WHERE id IN (SELECT id FROM old) RETURNING id
)
SELECT count(*) FROM pruned;
