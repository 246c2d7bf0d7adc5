-- What a worker is to know: its status, what is left of its time to drain, and
-- which of its jobs are to stop, and whether a job waits to run alone.
SELECT w.status, coalesce(greatest(w.drain_deadline - {now}, interval '0'), interval '0'),
    array(SELECT j.id FROM processing_jobs j
          WHERE j.state = 'running' AND j.cancel_asked AND j.worker_id = w.id ORDER BY j.id),
    EXISTS (SELECT 1 FROM processing_jobs j
            WHERE j.ready AND j.lost >= 2 AND j.queue = ANY (w.queues) AND (w.max_rank = 0 OR j.rank <= w.max_rank)
                AND (w.market <> 'spot' OR j.priority > 3 AND (j.estimated_seconds <= 1800 OR j.checkpointable))),
    w.max_rank
FROM workers w WHERE w.id = @worker;
