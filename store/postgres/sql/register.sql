-- Inserts a worker, or takes over the row that was provisioned for it: what a
-- scheduler wrote there and the worker does not know stays; of a machine that a
-- scheduler started, that is also how it is paid for, and that it is to end.
INSERT INTO workers (id, hostname, provider, region, instance_id, instance_type, market, queues, slots, version,
    cost_per_hour_cents, status, registered_at, last_heartbeat)
VALUES (@id, @hostname, @provider, @region, @instance_id, @instance_type, @market, @queues, @slots, @version,
    @cost::bigint::numeric / 10000, 'active', {now}, {now})
ON CONFLICT (id) DO UPDATE SET
    hostname = excluded.hostname, queues = excluded.queues, slots = excluded.slots, version = excluded.version,
    provider = CASE WHEN workers.provisioned_at IS NULL THEN excluded.provider ELSE workers.provider END,
    region = CASE WHEN workers.provisioned_at IS NULL OR workers.region = ''
        THEN coalesce(nullif(excluded.region, ''), workers.region) ELSE workers.region END,
    instance_id = CASE WHEN workers.provisioned_at IS NULL OR workers.instance_id = ''
        THEN coalesce(nullif(excluded.instance_id, ''), workers.instance_id) ELSE workers.instance_id END,
    instance_type = CASE WHEN workers.provisioned_at IS NULL
        THEN coalesce(nullif(excluded.instance_type, ''), workers.instance_type) ELSE workers.instance_type END,
    market = CASE WHEN workers.provisioned_at IS NULL THEN excluded.market ELSE workers.market END,
    cost_per_hour_cents = CASE WHEN workers.provisioned_at IS NULL
        THEN coalesce(nullif(excluded.cost_per_hour_cents, 0), workers.cost_per_hour_cents) ELSE workers.cost_per_hour_cents END,
    status = CASE WHEN workers.provisioned_at IS NOT NULL AND (workers.status = 'draining' OR workers.terminate_at IS NOT NULL)
        THEN 'draining' ELSE 'active' END,
    drain_deadline = CASE WHEN workers.provisioned_at IS NOT NULL AND (workers.status = 'draining' OR workers.terminate_at IS NOT NULL)
        THEN workers.drain_deadline END,
    current_jobs = 0, registered_at = excluded.registered_at, last_heartbeat = excluded.last_heartbeat,
    left_at = NULL, terminated_at = NULL;
