-- Entries across an edge of the time, and the sum of those within it as one.
SELECT from_at, until_at, amount FROM spend_entries
WHERE until_at > @from AND from_at < @until AND (from_at < @from OR until_at > @until)
UNION ALL
SELECT @from::timestamptz, @from::timestamptz, coalesce(sum(amount), 0)::bigint FROM spend_entries
WHERE until_at >= @from AND until_at <= @until AND from_at >= @from AND from_at < @until;
