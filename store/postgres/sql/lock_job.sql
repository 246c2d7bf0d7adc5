-- One job, which nobody else changes until the transaction ends; and whether
-- it runs without a living owner.
SELECT {job}, state = 'running' AND (lease_token IS NULL OR lease_until IS NULL OR lease_until < {now})
FROM processing_jobs WHERE id = @id FOR NO KEY UPDATE;
