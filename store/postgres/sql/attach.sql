UPDATE workers SET instance_id = coalesce(nullif(@instance, ''), instance_id), provider = @provider, instance_type = @type, zone = @zone, region = @zone,
    market = @market, launched_at = coalesce(@launched, launched_at), cost_per_hour_cents = @cost::bigint::numeric / 10000,
    cost_ceiling = @ceiling, granularity = @granularity::bigint * interval '1 microsecond'
WHERE id = @id AND status <> 'terminated';
