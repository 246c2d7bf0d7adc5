-- For each (queue, rank, tenant): the tenant's highest tag among ready jobs
-- there and the lowest of anybody's, 0 where there is none.
SELECT
    coalesce((SELECT j.fair_tag FROM processing_jobs j
              WHERE j.ready AND j.queue = p.queue AND j.rank = p.rank AND j.tenant = p.tenant
              ORDER BY j.fair_tag DESC LIMIT 1), 0),
    coalesce((SELECT j.fair_tag FROM processing_jobs j
              WHERE j.ready AND j.queue = p.queue AND j.rank = p.rank
              ORDER BY j.fair_tag, j.id LIMIT 1), 0)
FROM unnest(@queues::text[], @ranks::smallint[], @tenants::text[])
    WITH ORDINALITY AS p (queue, rank, tenant, place)
ORDER BY p.place;
