-- Deletes up to @parts checkpoints of the jobs that prune.sql would delete: of
-- some jobs there are tens of thousands, too many for one statement.
WITH old AS MATERIALIZED (
    SELECT f.id FROM unnest(@states::text[], @keeps::bigint[]) AS k (state, keep) CROSS JOIN LATERAL (
        SELECT j.id FROM processing_jobs j
        WHERE j.finished_at IS NOT NULL AND j.state = k.state
            AND j.finished_at <= {now} - k.keep * interval '1 microsecond'
        ORDER BY j.finished_at LIMIT @most FOR UPDATE SKIP LOCKED) f
    LIMIT @most
)
DELETE FROM job_checkpoints WHERE ctid = ANY (array(
    SELECT c.ctid FROM old CROSS JOIN LATERAL (
        SELECT ctid FROM job_checkpoints WHERE job_id = old.id ORDER BY key LIMIT @parts) c
    LIMIT @parts));
