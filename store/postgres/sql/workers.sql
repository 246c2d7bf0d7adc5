-- Workers that have not ended and, with @all, the latest 200 that have; each
-- with its last metric.
SELECT w.id, w.hostname, w.provider, w.region, w.instance_id, w.instance_type, w.market, w.queues, w.slots, w.version,
    (w.cost_per_hour_cents * 10000)::bigint, w.status, w.current_jobs, w.registered_at, w.last_heartbeat,
    w.last_job_completed_at, w.drain_deadline, w.terminated_at,
    w.status IN ('active', 'draining') AND w.last_heartbeat < {now} - @stale::bigint * interval '1 microsecond',
    m.at, coalesce(m.cpu_percent, 0), coalesce(m.memory_bytes, 0), coalesce(m.memory_limit, 0), coalesce(m.jobs_running, 0)
FROM (
    SELECT * FROM workers WHERE status <> 'terminated'
    UNION ALL
    (SELECT * FROM workers WHERE status = 'terminated' AND @all::bool ORDER BY terminated_at DESC LIMIT 200)
) w
LEFT JOIN LATERAL (SELECT * FROM worker_metrics WHERE worker_id = w.id ORDER BY at DESC LIMIT 1) m ON true
ORDER BY w.registered_at, w.id;
