-- Deletes what nobody will ask for any more.
DELETE FROM scaling_decisions WHERE seq = ANY (array(
    SELECT d.seq FROM unnest(@kinds::text[], @keeps::bigint[]) AS k (kind, keep)
    CROSS JOIN LATERAL (
        SELECT seq FROM scaling_decisions
        WHERE kind = k.kind AND at < {now} - k.keep * interval '1 microsecond' ORDER BY at LIMIT @most) d
    LIMIT @most));
