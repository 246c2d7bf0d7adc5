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
    SELECT e.*, j.queue, j.rank, j.tenant, j.fair_tag, j.estimated_seconds, j.reason AS asked_for,
        j.cancel_asked AND (e.state = 'queued' OR e.state <> 'cancelled' AND @orphans) AS stop,
        j.cancel_asked AND j.reason <> '' AND (e.state IN ('queued', 'cancelled') OR @orphans) AS explained
    FROM processing_jobs j JOIN ending e ON e.id = j.id AND e.token = coalesce(j.lease_token, '')
    WHERE j.state = 'running'
        AND (NOT @orphans::bool OR j.lease_token IS NULL OR j.lease_until IS NULL OR j.lease_until < {now})
    ORDER BY j.id FOR NO KEY UPDATE OF j
), ruling AS (
    -- Whom somebody asked to stop is not queued again. The reason they gave
    -- for it is on the job already. The tag is that of jobs.FairAgain.
    SELECT seat.id, seat.token, seat.delay, seat.result, seat.attempt AS burnt, seat.news, seat.done, seat.total, seat.note,
        CASE WHEN seat.stop THEN 'cancelled' ELSE seat.state END AS state,
        CASE WHEN seat.stop AND seat.attempt <> 'lost' THEN 'cancelled' ELSE seat.attempt END AS attempt,
        CASE WHEN seat.stop THEN 'cancelled' ELSE seat.code END AS code,
        CASE WHEN seat.explained THEN seat.asked_for WHEN seat.stop THEN 'The job was cancelled.' ELSE seat.reason END AS reason,
        CASE WHEN seat.state <> 'queued' OR seat.stop THEN seat.fair_tag WHEN seat.delay > 0 THEN 0
            ELSE greatest({head}, least(seat.fair_tag, greatest({last}, {head}) + {cost})) END AS tag
    FROM held seat
), ended AS (
    UPDATE processing_jobs j SET
        state = r.state,
        ready = r.state = 'queued' AND r.delay <= 0,
        fair_tag = r.tag,
        eligible_at = CASE WHEN r.state = 'queued' THEN {now} + greatest(r.delay, 0) * interval '1 microsecond' ELSE j.eligible_at END,
        give_up_at = CASE WHEN r.state = 'queued' AND j.wait_limit > interval '0'
            THEN {now} + greatest(r.delay, 0) * interval '1 microsecond' + j.wait_limit END,
        finished_at = CASE WHEN r.state <> 'queued' THEN {now} END,
        attempts = j.attempts + (r.burnt = 'failed')::int,
        lost = CASE WHEN r.burnt = 'lost' THEN j.lost + 1 ELSE 0 END,
        cancel_asked = false, lease_token = NULL, lease_until = NULL,
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
