-- Running jobs without a living owner, whoever started longest ago first. All
-- running ones are looked at, so that one without any lease is found as well.
SELECT {job} FROM processing_jobs
WHERE state = 'running' AND (lease_token IS NULL OR lease_until IS NULL OR lease_until < {now})
ORDER BY started_at NULLS FIRST, id LIMIT @most;
