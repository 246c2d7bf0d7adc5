-- Puts entries down, but for accruals of time that was booked before, and moves
-- on up to when their workers' time is booked.
WITH entry AS MATERIALIZED (
    SELECT e.* FROM unnest(@ats::timestamptz[], @workers::text[], @providers::text[], @types::text[], @zones::text[],
        @markets::text[], @queues::text[], @kinds::text[], @froms::timestamptz[], @untils::timestamptz[],
        @amounts::bigint[], @notes::text[])
        WITH ORDINALITY AS e (at, worker_id, provider, instance_type, zone, market, queue, kind, from_at, until_at, amount, note, place)
    LEFT JOIN workers w ON w.id = e.worker_id
    WHERE e.kind <> 'accrual' OR w.accrued_until IS NULL OR e.until_at > w.accrued_until
), booked AS (
    UPDATE workers w SET accrued_until = greatest(w.accrued_until, b.until_at)
    FROM (SELECT worker_id, max(until_at) AS until_at FROM entry WHERE kind = 'accrual' GROUP BY worker_id) b
    WHERE w.id = b.worker_id
)
INSERT INTO spend_entries (at, worker_id, provider, instance_type, zone, market, queue, kind, from_at, until_at, amount, note)
SELECT coalesce(at, {now}), worker_id, provider, instance_type, zone, market, queue, kind, from_at, until_at, amount, note
FROM entry ORDER BY place
ON CONFLICT DO NOTHING;
