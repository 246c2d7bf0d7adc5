-- Draws numbers for @n jobs and tells the time that they were created at.
SELECT array(SELECT nextval('processing_jobs_id') FROM generate_series(1, @n::int)), {clock};
