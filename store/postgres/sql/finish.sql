-- Ends attempts. Each row of the arrays is carried out when its job is running
-- under its token and, with @orphans, when the lease is over, too; the answer
-- lists what was. Rows are locked in the order of their numbers.
WITH ending AS MATERIALIZED (
    SELECT * FROM unnest(
        @ids::bigint[], @tokens::text[], @states::text[], @attempts::text[], @delays::bigint[], @results::text[],
        @codes::text[], @reasons::text[], @news::bool[], @dones::bigint[], @totals::bigint[], @notes::text[])
        AS e (id, token, state, attempt, delay, result, code, reason, news, done, total, note)
), held AS MATERIALIZED (
    -- What a job was asked before its row was locked is read with the lock.
    SELECT e.*, j.cancel_asked, j.reason AS asked_for
    FROM processing_jobs j JOIN ending e ON e.id = j.id AND e.token = coalesce(j.lease_token, '')
    WHERE j.state = 'running'
        AND (NOT @orphans::bool OR j.lease_token IS NULL OR j.lease_until IS NULL OR j.lease_until < {now})
    ORDER BY j.id FOR NO KEY UPDATE OF j
), ruling AS (
    -- Whom somebody asked to stop is not queued again, and as an orphan it is
    -- cancelled whatever else it would be. The reason they gave for it is on
    -- the job already.
    SELECT h.id, h.token, h.delay, h.result, h.attempt AS burnt, h.news, h.done, h.total, h.note,
        CASE WHEN v.stop THEN 'cancelled' ELSE h.state END AS state,
        CASE WHEN v.stop AND h.attempt <> 'lost' THEN 'cancelled' ELSE h.attempt END AS attempt,
        CASE WHEN v.stop THEN 'cancelled' ELSE h.code END AS code,
        CASE WHEN h.cancel_asked AND (v.stop OR h.state = 'cancelled') AND h.asked_for <> ''
            THEN h.asked_for ELSE h.reason END AS reason
    FROM held h CROSS JOIN LATERAL (SELECT h.cancel_asked AND (@orphans OR h.state = 'queued') AS stop) v
), ended AS (
    UPDATE processing_jobs j SET
        state = r.state,
        ready = r.state = 'queued' AND r.delay <= 0,
        fair_tag = CASE WHEN r.state = 'queued' AND r.delay <= 0 THEN (
            -- jobs.FairAgain
            SELECT greatest(t.head, least(j.fair_tag, greatest(t.last, t.head) + least(greatest(j.estimated_seconds, 1), 3600)))
            FROM (SELECT coalesce((
                    SELECT h.fair_tag FROM processing_jobs h WHERE h.ready AND h.queue = j.queue AND h.rank = j.rank
                    ORDER BY h.fair_tag, h.id LIMIT 1), 0) AS head, coalesce((
                    SELECT h.fair_tag FROM processing_jobs h
                    WHERE h.ready AND h.queue = j.queue AND h.rank = j.rank AND h.tenant = j.tenant
                    ORDER BY h.fair_tag DESC LIMIT 1), 0) AS last) t) ELSE j.fair_tag END,
        eligible_at = CASE WHEN r.state = 'queued' THEN {now} + greatest(r.delay, 0) * interval '1 microsecond' ELSE j.eligible_at END,
        give_up_at = CASE WHEN r.state = 'queued' AND j.wait_limit > interval '0'
            THEN {now} + greatest(r.delay, 0) * interval '1 microsecond' + j.wait_limit END,
        finished_at = CASE WHEN r.state <> 'queued' THEN {now} END,
        attempts = j.attempts + (r.burnt = 'failed')::int,
        lost = CASE WHEN r.burnt = 'lost' THEN j.lost + 1 ELSE 0 END,
        lease_token = NULL, lease_until = NULL, cancel_asked = false,
        progress_done = CASE WHEN r.news THEN r.done ELSE j.progress_done END,
        progress_total = CASE WHEN r.news THEN r.total ELSE j.progress_total END,
        progress_note = CASE WHEN r.news THEN r.note ELSE j.progress_note END,
        result = r.result::json, code = r.code, reason = r.reason, version = j.version + 1
    FROM ruling r
    WHERE j.id = r.id AND j.state = 'running' AND coalesce(j.lease_token, '') = r.token
    RETURNING j.id, j.queue, j.state, j.ready, j.deliveries, j.worker_id, j.webhook, r.attempt, r.code, r.reason
), attempted AS (
    UPDATE job_attempts a SET status = e.attempt, finished_at = {now}, code = e.code, reason = e.reason
    FROM ended e WHERE a.job_id = e.id AND a.number = e.deliveries
), outbox AS (
    INSERT INTO job_webhooks (job_id, url, due_at)
    SELECT id, webhook, {now} FROM ended WHERE state <> 'queued' AND webhook <> ''
    ON CONFLICT (job_id) DO UPDATE SET url = excluded.url, attempts = 0, due_at = excluded.due_at, done_at = NULL, failure = ''
), idle AS (
    UPDATE workers SET last_job_completed_at = {now}
    WHERE NOT @orphans AND id IN (
        SELECT w.id FROM workers w WHERE w.id IN (SELECT worker_id FROM ended) ORDER BY w.id FOR NO KEY UPDATE)
)
SELECT id FROM ended;
