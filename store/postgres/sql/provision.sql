INSERT INTO workers (id, provider, instance_type, zone, region, market, queues, slots, cost_per_hour_cents, cost_ceiling,
    granularity, keep_until, accrued_until, origin, max_rank, request, status, registered_at, provisioned_at)
VALUES (@id, @provider, @type, @zone, @zone, @market, @queues, @slots, @cost::bigint::numeric / 10000, @ceiling,
    @granularity::bigint * interval '1 microsecond', @keep, @accrued, @origin, @max_rank, @request::text::json,
    'provisioning', {now}, {now})
ON CONFLICT (id) DO NOTHING;
