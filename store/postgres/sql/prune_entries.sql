DELETE FROM spend_entries WHERE id = ANY (array(
    SELECT id FROM spend_entries WHERE until_at < {now} - @keep::bigint * interval '1 microsecond' ORDER BY until_at LIMIT @most));
