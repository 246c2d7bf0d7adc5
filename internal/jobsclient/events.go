package jobsclient

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// mostLine bounds one line of a stream, which holds all of a job.
const mostLine = 2 << 20

// Reconnecting: a server that restarts is waited for, one that is gone is not.
// Streams that end in between, as proxies and servers that stop have it, are
// taken up for as long as the job goes on.
const (
	reconnectAfter = time.Second
	mostReconnects = 60
)

// Follow tells watch of a job now and after each change until it is over, and
// gives what it was then. A stream that breaks is taken up where it was.
func (r *Remote) Follow(ctx context.Context, id jobs.ID, watch Watcher) (jobs.Document, error) {
	last := jobs.Document{Version: -1}
	lastEvent, away := "", 0
	for {
		opened, err := r.stream(ctx, id, &lastEvent, func(job jobs.Document) {
			if job.Version != last.Version {
				watch(job)
			}
			last = job
		})
		if last.State.Final() {
			return last, nil
		}
		if away++; opened {
			away = 0
		}
		if err = r.hopeless(ctx, err, away); err != nil {
			return last, err
		}
	}
}

// hopeless waits before another try, or gives the error that makes it useless.
func (r *Remote) hopeless(ctx context.Context, err error, away int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil && (!errors.Is(err, jobs.ErrUnavailable) || away > mostReconnects) {
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
// data and its version as its id. It was opened when the server began one.
func (r *Remote) stream(ctx context.Context, id jobs.ID, lastEvent *string, tell Watcher) (opened bool, err error) {
	response, err := r.send(ctx, http.MethodGet, "/v1/jobs/"+id.String()+"/events", nil, nil, *lastEvent)
	if err != nil {
		return false, err
	}
	defer func() { _ = response.Body.Close() }()
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode != http.StatusNoContent && kind != "text/event-stream" {
		return false, fmt.Errorf("%s does not tell of jobs as a server does: it answers %q", r.base.Host, kind)
	}
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
				return true, fmt.Errorf("%s does not tell of jobs as a server does: %w", r.base.Host, err)
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
		return true, r.away(err)
	}
	return true, nil
}
