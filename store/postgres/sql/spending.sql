-- Sums of entries by provider, queue and quarter of an hour, at whose edges alone
-- a day of any time zone begins. An entry across such an edge stays by itself.
SELECT e.provider, e.queue, min(e.from_at), max(e.until_at), sum(e.amount)::bigint
FROM (
    SELECT *, floor(extract(epoch FROM from_at) / 900) AS quarter FROM spend_entries
    WHERE until_at >= @from AND from_at < @until AND (until_at > @from OR from_at = until_at)
) e
GROUP BY e.provider, e.queue, e.quarter,
    CASE WHEN e.until_at <= to_timestamp((e.quarter + 1) * 900) AND e.from_at >= @from AND e.until_at <= @until THEN 0 ELSE e.id END;
