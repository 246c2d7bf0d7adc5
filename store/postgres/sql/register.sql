-- Inserts a worker, or takes over the row that was provisioned for it: what a
-- scheduler wrote there and the worker does not know stays.
INSERT INTO workers (id, hostname, provider, region, instance_id, instance_type, market, queues, slots, version,
    cost_per_hour_cents, status, registered_at, last_heartbeat)
VALUES (@id, @hostname, @provider, @region, @instance_id, @instance_type, @market, @queues, @slots, @version,
    @cost::bigint::numeric / 10000, 'active', {now}, {now})
ON CONFLICT (id) DO UPDATE SET
    hostname = excluded.hostname, provider = excluded.provider,
    region = coalesce(nullif(excluded.region, ''), workers.region),
    instance_id = coalesce(nullif(excluded.instance_id, ''), workers.instance_id),
    instance_type = coalesce(nullif(excluded.instance_type, ''), workers.instance_type),
    market = excluded.market, queues = excluded.queues, slots = excluded.slots, version = excluded.version,
    cost_per_hour_cents = coalesce(nullif(excluded.cost_per_hour_cents, 0), workers.cost_per_hour_cents),
    status = 'active', current_jobs = 0, last_heartbeat = excluded.last_heartbeat,
    drain_deadline = NULL, terminated_at = NULL;
