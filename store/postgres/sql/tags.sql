-- For each (queue, rank, tenant): the tenant's highest tag among ready jobs
-- there and the lowest of anybody's, 0 where there is none.
SELECT {last}, {head}
FROM unnest(@queues::text[], @ranks::smallint[], @tenants::text[])
    WITH ORDINALITY AS seat (queue, rank, tenant, place)
ORDER BY seat.place;
