INSERT INTO scaling_decisions (id, tick, at, kind, queue, worker_id, document)
SELECT d.id, d.tick, d.at, d.kind, d.queue, d.worker_id, d.document::json
FROM unnest(@ids::text[], @ticks::text[], @ats::timestamptz[], @kinds::text[], @queues::text[], @workers::text[], @documents::text[])
    WITH ORDINALITY AS d (id, tick, at, kind, queue, worker_id, document, place)
ORDER BY d.place
ON CONFLICT (id) DO UPDATE SET document = excluded.document;
