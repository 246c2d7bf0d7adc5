-- Workers that are not terminated, or were since @since, or are among @ids, with the jobs that name them and their last
-- metric. Who was never heard has not registered.
SELECT w.id, w.provider, w.instance_type, w.zone, w.market, w.instance_id, w.queues, w.slots, w.status,
    coalesce(c.claimed, 0), w.current_jobs, w.provisioned_at, w.launched_at,
    CASE WHEN w.last_heartbeat IS NOT NULL THEN w.registered_at END, w.last_heartbeat, w.last_job_completed_at,
    w.drain_deadline, w.left_at, w.terminate_at, w.accrued_until, w.keep_until, w.origin,
    (w.cost_per_hour_cents * 10000)::bigint, w.cost_ceiling, w.granularity, coalesce(m.cpu_percent, 0), m.at, w.max_rank,
    coalesce(w.request::text, ''), w.terminated_at
FROM workers w
LEFT JOIN (SELECT worker_id, count(*) AS claimed FROM processing_jobs WHERE state = 'running' GROUP BY worker_id) c
    ON c.worker_id = w.id
LEFT JOIN LATERAL (SELECT cpu_percent, at FROM worker_metrics WHERE worker_id = w.id ORDER BY at DESC LIMIT 1) m ON true
WHERE w.status <> 'terminated' OR w.terminated_at >= @since::timestamptz OR w.id = ANY (@ids::text[]) ORDER BY w.id COLLATE "C";
