-- All that was booked for each worker that has entries, the corrections in it,
-- and where it was last.
SELECT i.id, e.amount, e.corrected, p.provider, p.instance_type, p.zone, p.market
FROM unnest(@ids::text[]) AS i (id)
CROSS JOIN LATERAL (
    SELECT sum(amount)::bigint AS amount, coalesce(sum(amount) FILTER (WHERE kind = 'correction'), 0)::bigint AS corrected, max(id) AS last
    FROM spend_entries WHERE worker_id = i.id
) e
JOIN spend_entries p ON p.id = e.last;
