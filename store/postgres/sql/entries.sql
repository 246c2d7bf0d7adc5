SELECT id, at, worker_id, provider, instance_type, zone, market, queue, kind, from_at, until_at, amount, note
FROM spend_entries WHERE id < @before ORDER BY id DESC LIMIT @most;
