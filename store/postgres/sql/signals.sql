-- What a worker is to know: its status, what is left of its time to drain, and
-- which of its jobs are to stop.
SELECT w.status, coalesce(greatest(w.drain_deadline - {now}, interval '0'), interval '0'),
    array(SELECT j.id FROM processing_jobs j
          WHERE j.state = 'running' AND j.cancel_asked AND j.worker_id = w.id ORDER BY j.id)
FROM workers w WHERE w.id = @worker;
