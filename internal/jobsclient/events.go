package jobsclient

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// mostLine bounds one line of a stream, which holds all of a job.
const mostLine = 2 << 20

// Reconnecting: a server that restarts is waited for, one that is gone is not.
const (
	reconnectAfter = time.Second
	mostReconnects = 60
)

// Follow tells watch of a job now and after each change until it is over, and
// gives what it was then. A stream that breaks is taken up where it was.
func (r *Remote) Follow(ctx context.Context, id jobs.ID, watch Watcher) (jobs.Document, error) {
	last := jobs.Document{Version: -1}
	lastEvent, broken := "", 0
	for {
		before := lastEvent
		err := r.stream(ctx, id, &lastEvent, func(job jobs.Document) {
			if job.Version != last.Version {
				watch(job)
			}
			last = job
		})
		if last.State.Final() {
			return last, nil
		}
		if broken++; lastEvent != before {
			broken = 1
		}
		if err = r.hopeless(ctx, err, broken); err != nil {
			return last, err
		}
	}
}

// hopeless waits before another try, or gives the error that makes it useless.
func (r *Remote) hopeless(ctx context.Context, err error, broken int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil && !errors.Is(err, jobs.ErrUnavailable) || broken > mostReconnects {
		return err
	}
	wait := time.NewTimer(reconnectAfter)
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-wait.C:
		return nil
	}
}

// stream reads events until the server ends the stream. Each has the job as its
// data and its version as its id.
func (r *Remote) stream(ctx context.Context, id jobs.ID, lastEvent *string, tell Watcher) error {
	response, err := r.send(ctx, http.MethodGet, "/v1/jobs/"+id.String()+"/events", nil, nil, *lastEvent)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, mostLine)
	var data []string
	event := ""
	for lines.Scan() {
		line := lines.Text()
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && len(data) > 0:
			var job jobs.Document
			if err := json.Unmarshal([]byte(strings.Join(data, "\n")), &job); err != nil {
				return fmt.Errorf("%s does not tell of jobs as a server does: %w", r.base.Host, err)
			}
			tell(job)
			*lastEvent, data = event, nil
		case field == "data":
			data = append(data, value)
		case field == "id":
			event = value
		}
	}
	if err := lines.Err(); err != nil {
		return r.away(err)
	}
	return nil
}
