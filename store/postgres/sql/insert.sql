-- Inserts jobs and answers the numbers of those that went in. One whose key
-- another job has is left out: an index that two processes meet in makes the
-- second wait for the first. Rows come in the order of their keys, so that two
-- batches do not wait for each other.
INSERT INTO processing_jobs (
    id, type, queue, priority, rank, tenant, fair_tag, input, params, idempotency_key, unique_key,
    max_attempts, wait_limit, work_limit, estimated_seconds, checkpointable, webhook,
    ready, created_at, eligible_at, give_up_at)
SELECT
    j.id, j.type, j.queue, j.priority, j.priority, j.tenant, j.fair_tag, j.input, j.params::json,
    j.idempotency_key, j.unique_key, j.max_attempts, j.wait_limit * interval '1 microsecond',
    j.work_limit * interval '1 microsecond', j.estimated_seconds, j.checkpointable, j.webhook,
    j.eligible_at <= j.created_at, j.created_at, j.eligible_at,
    CASE WHEN j.wait_limit > 0 THEN j.eligible_at + j.wait_limit * interval '1 microsecond' END
FROM unnest(
    @ids::bigint[], @types::text[], @queues::text[], @priorities::smallint[], @tenants::text[],
    @tags::float8[], @inputs::text[], @params::text[], @idempotency_keys::text[], @unique_keys::text[],
    @max_attempts::int[], @wait_limits::bigint[], @work_limits::bigint[], @estimates::float8[],
    @checkpointable::bool[], @webhooks::text[], @created::timestamptz[], @eligible::timestamptz[])
    AS j (id, type, queue, priority, tenant, fair_tag, input, params, idempotency_key, unique_key,
          max_attempts, wait_limit, work_limit, estimated_seconds, checkpointable, webhook,
          created_at, eligible_at)
ORDER BY j.idempotency_key NULLS LAST, j.unique_key NULLS LAST, j.id
ON CONFLICT DO NOTHING
RETURNING id;
