package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/jobs"
)

const (
	pageOfJobs, longestPage = 50, 200
	// mostCounted is where counting the jobs of a queue stops.
	mostCounted = 10_000
)

// shownJob is a job with the history of its deliveries.
type shownJob struct {
	jobs.Document
	History []jobs.Attempt `json:"history"`
}

// showJob tells all of a job. Its version is its tag, so that asking again and
// again costs little.
func (a *jobsAPI) showJob(x *exchange, variable string) error {
	id, err := parseID(variable)
	if err != nil {
		return err
	}
	if _, err := readParameters(x.r); err != nil {
		return err
	}
	ctx, cancel := x.ask()
	defer cancel()
	job, err := a.cfg.Store.Job(ctx, id)
	if err != nil {
		return jobFault(err)
	}
	etag, fresh := asked{header: x.r.Header}.has(fmt.Sprintf("%s-%d", job.ID, job.Version), time.Time{})
	x.w.Header().Set("ETag", quote(etag))
	if fresh {
		x.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	history, err := a.cfg.Store.Attempts(ctx, id)
	if err != nil {
		return jobFault(err)
	}
	return a.writeJSON(x, http.StatusOK, shownJob{job.Document(), listed(history)})
}

// listed is never null in JSON.
func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// parameters are those of a query of /v1: each known, each given once.
type parameters struct{ url.Values }

func readParameters(r *http.Request, known ...string) (parameters, error) {
	_, query, _ := strings.Cut(target(r), "?")
	values, err := parseQuery(query)
	if err != nil {
		return parameters{}, err
	}
	for name, all := range values {
		if !slices.Contains(known, name) {
			return parameters{}, invalid(shortName(name), "%.60q is not known here%s.", name, nearestKnown(name, known))
		}
		if len(all) > 1 {
			return parameters{}, invalid(name, "%s: given %d times; it may be given once.", name, len(all))
		}
	}
	return parameters{values}, nil
}

func nearestKnown(name string, known []string) string {
	if near := media.Nearest(name, known); near != "" {
		return "; the nearest is " + near
	}
	if len(known) == 0 {
		return "; no parameter is"
	}
	return "; there are " + strings.Join(known, ", ")
}

// limit is how many a page may have.
func (p parameters) limit(usual, most int) (int, error) {
	text := p.Get("limit")
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, invalid("limit", "limit: %.60q is not a whole number from 1 to %d.", text, most)
	}
	return n, nil
}

// listJobs answers the newest first, a page at a time.
func (a *jobsAPI) listJobs(x *exchange, _ string) error {
	p, err := readParameters(x.r, "state", "queue", "type", "tenant", "limit", "cursor")
	if err != nil {
		return err
	}
	filter, err := p.filter()
	if err != nil {
		return err
	}
	page, more, err := a.readPage(x, filter)
	if err != nil {
		return err
	}
	answer := struct {
		Jobs []jobs.Document `json:"jobs"`
		Next string          `json:"next,omitempty"`
	}{Jobs: make([]jobs.Document, len(page))}
	for i := range page {
		answer.Jobs[i] = page[i].Document()
	}
	if more {
		answer.Next = page[len(page)-1].ID.String()
		p.linkNext(x, answer.Next)
	}
	return a.writeJSON(x, http.StatusOK, answer)
}

const (
	// longestList is where a page of jobs ends early: params may have a megabyte
	// each, and neither side wants two hundred of them at once.
	longestList = 8 << 20
	// listStep is how many jobs are read of the store at a time.
	listStep = 20
)

// readPage reads jobs until there are as many as the filter allows, or they are
// too long for more; then more may follow.
func (a *jobsAPI) readPage(x *exchange, filter jobs.Filter) (page []jobs.Job, more bool, err error) {
	ctx, cancel := x.ask()
	defer cancel()
	most, size := filter.Limit, 0
	for len(page) < most {
		filter.Limit = min(listStep, most-len(page))
		step, err := a.cfg.Store.Jobs(ctx, filter)
		if err != nil {
			return nil, false, jobFault(err)
		}
		for _, job := range step {
			if size += len(job.Params) + len(job.Result); size > longestList && len(page) > 0 {
				return page, true, nil
			}
			page = append(page, job)
		}
		if len(step) < filter.Limit {
			return page, false, nil
		}
		filter.Before = page[len(page)-1].ID
	}
	return page, true, nil
}

func (p parameters) filter() (f jobs.Filter, err error) {
	f = jobs.Filter{State: jobs.State(p.Get("state")), Queue: p.Get("queue"), Type: p.Get("type"), Tenant: p.Get("tenant")}
	states := []jobs.State{jobs.Queued, jobs.Running, jobs.Succeeded, jobs.Failed, jobs.Cancelled}
	if f.State != "" && !slices.Contains(states, f.State) {
		return f, invalid("state", "state: %.60q is none of queued, running, succeeded, failed and cancelled.", f.State)
	}
	for name, value := range map[string]string{"queue": f.Queue, "type": f.Type, "tenant": f.Tenant} {
		if !plainText(value) {
			return f, invalid(name, "%s: %.60q is not printable text.", name, value)
		}
	}
	if cursor := p.Get("cursor"); cursor != "" {
		if f.Before, err = jobs.ParseID(cursor); err != nil {
			return f, invalid("cursor", "cursor: %.60q is none that this server gave.", cursor)
		}
	}
	f.Limit, err = p.limit(pageOfJobs, longestPage)
	return f, err
}

// linkNext says in a header, too, where the list goes on (RFC 8288), from
// wherever the client sees this place.
func (p parameters) linkNext(x *exchange, cursor string) {
	next := url.Values{"cursor": {cursor}}
	for name, values := range p.Values {
		if name != "cursor" {
			next[name] = values
		}
	}
	x.w.Header().Set("Link", "<?"+next.Encode()+`>; rel="next"`)
}

// listCheckpoints pages through the parts of a job that are done.
func (a *jobsAPI) listCheckpoints(x *exchange, variable string) error {
	id, err := parseID(variable)
	if err != nil {
		return err
	}
	p, err := readParameters(x.r, "limit", "cursor")
	if err != nil {
		return err
	}
	limit, err := p.limit(longestPage, 1000)
	if err != nil {
		return err
	}
	if !plainText(p.Get("cursor")) {
		return invalid("cursor", "cursor: it is none that this server gave.")
	}
	ctx, cancel := x.ask()
	defer cancel()
	if _, err := a.cfg.Store.Job(ctx, id); err != nil {
		return jobFault(err)
	}
	page, err := a.cfg.Store.Checkpoints(ctx, id, p.Get("cursor"), limit)
	if err != nil {
		return jobFault(err)
	}
	answer := struct {
		Checkpoints []jobs.Checkpoint `json:"checkpoints"`
		Next        string            `json:"next,omitempty"`
	}{Checkpoints: listed(page)}
	if len(page) == limit {
		answer.Next = page[len(page)-1].Key
		p.linkNext(x, answer.Next)
	}
	return a.writeJSON(x, http.StatusOK, answer)
}

func (a *jobsAPI) listQueues(x *exchange, _ string) error {
	if _, err := readParameters(x.r); err != nil {
		return err
	}
	ctx, cancel := x.ask()
	defer cancel()
	stats, err := a.cfg.Store.Queues(ctx, mostCounted)
	if err != nil {
		return jobFault(err)
	}
	queues := make([]jobs.QueueDocument, len(stats))
	for i, q := range stats {
		queues[i] = q.Document()
	}
	return a.writeJSON(x, http.StatusOK, map[string]any{"queues": queues})
}

func (a *jobsAPI) listWorkers(x *exchange, _ string) error {
	p, err := readParameters(x.r, "all")
	if err != nil {
		return err
	}
	all := false
	if text := p.Get("all"); text != "" {
		if all, err = strconv.ParseBool(text); err != nil {
			return invalid("all", "all: %.60q is neither true nor false.", text)
		}
	}
	ctx, cancel := x.ask()
	defer cancel()
	workers, err := a.cfg.Store.Workers(ctx, all)
	if err != nil {
		return jobFault(err)
	}
	for i := range workers {
		w := &workers[i]
		w.Queues = listed(w.Queues)
		if w.Market != jobs.VPS {
			// These three are words and prices of the scheduler's file, which is
			// never sent over HTTP; "spillway workers" on its host has them.
			w.Region, w.InstanceType, w.CostPerHour = "", "", 0
		}
	}
	return a.writeJSON(x, http.StatusOK, map[string]any{"workers": listed(workers)})
}
