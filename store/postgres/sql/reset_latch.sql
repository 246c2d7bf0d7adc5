-- Clears the latch and answers what it was.
UPDATE scheduler_state s SET latch = NULL
FROM (SELECT id, latch FROM scheduler_state WHERE id = 1 FOR UPDATE) was
WHERE s.id = was.id
RETURNING coalesce(was.latch::text, '');
