package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/jobs"
)

// heartbeat keeps a quiet stream from being taken for a dead one, here and at
// proxies between.
const heartbeat = 15 * time.Second

// streamJob tells what becomes of a job as it happens, as server-sent events.
// A client that says which version it had last gets what is newer.
func (a *jobsAPI) streamJob(x *exchange, variable string) error {
	id, err := parseID(variable)
	if err != nil {
		return err
	}
	if _, err := readParameters(x.r); err != nil {
		return err
	}
	// Watching begins before reading, so that nothing falls between.
	s, err := a.watcher.watch(id)
	if err != nil {
		return &media.Error{Code: media.CodeOverloaded, Detail: "Too many streams are open.", RetryAfter: storePause, Cause: err}
	}
	defer a.watcher.leave(s)
	job, err := a.readWatched(x, id)
	if err != nil {
		return err
	}
	// What cannot be read is no version, and older than all there are.
	known, _ := strconv.ParseInt(x.r.Header.Get("Last-Event-ID"), 10, 64)
	if job.State.Final() && job.Version == known {
		// The client has the end; this is how it learns not to come back.
		x.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	h := x.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // proxies are not to wait for more
	x.w.WriteHeader(http.StatusOK)
	if x.r.Method == http.MethodHead {
		return nil
	}
	return a.tellStream(x, s, job, known)
}

func (a *jobsAPI) readWatched(x *exchange, id jobs.ID) (jobs.Job, error) {
	ctx, cancel := x.ask()
	defer cancel()
	job, err := a.cfg.Store.Job(ctx, id)
	if err != nil {
		return job, jobFault(err)
	}
	return job, nil
}

// tellStream writes events until the job is over, the client leaves, or the
// server stops.
func (a *jobsAPI) tellStream(x *exchange, s *stream, job jobs.Job, known int64) error {
	told := teller{to: newFlushing(x.w), version: known}
	var err error
	if job.Version == known {
		told.last = job // only what is newer is news, but that it is watched is
		_, err = told.to.Write([]byte(": nothing new\n\n"))
	} else {
		err = told.tell(job)
	}
	if err != nil {
		return err
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for !told.last.State.Final() {
		var err error
		select {
		case <-x.r.Context().Done():
			return media.Wrap(media.CodeCancelled, x.r.Context().Err(), "the client stopped watching")
		case <-s.gone:
			return nil
		case job := <-s.latest:
			err = told.tell(job)
		case <-beat.C:
			_, err = told.to.Write([]byte(": still here\n\n"))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// teller remembers what a client has been told.
type teller struct {
	to      *flushing
	last    jobs.Job
	version int64
}

// tell writes one event, unless the client has it. An older version than the
// client says it had is told at first: then it had that of another store.
func (t *teller) tell(job jobs.Job) error {
	first := t.last.Version == 0
	if job.Version == t.version || !first && job.Version < t.version {
		return nil
	}
	data, err := json.Marshal(job.Document())
	if err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	kind := "progress"
	switch {
	case job.State.Final():
		kind = "end"
	case first || job.State != t.last.State || job.Deliveries != t.last.Deliveries:
		kind = "state"
	}
	t.last, t.version = job, job.Version
	_, err = fmt.Fprintf(t.to, "id: %d\nevent: %s\ndata: %s\n\n", job.Version, kind, data)
	return err
}
