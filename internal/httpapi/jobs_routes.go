package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spillway-media/spillway/internal/media"
)

const (
	jobsPrefix = "/v1/"
	// storePatience is how long an answer waits for the store of jobs.
	storePatience = 10 * time.Second
)

// access is what a route asks of a token.
type access int

const (
	writes access = iota
	reads
	open // no token at all
)

// jobRoute is one method at one place. A pattern has at most one variable, at
// any of its segments, or {key...} for all the rest.
type jobRoute struct {
	method, pattern string
	access          access
	answer          func(x *exchange, variable string) error
}

// jobsAPI is /v1. It is immutable but for its watcher, which guards itself.
type jobsAPI struct {
	*Server
	cfg     JobsConfig
	watcher *watcher
	places  []place
}

// place is all routes of one pattern.
type place struct {
	pattern string
	methods map[string]jobRoute
	allowed string
	handler http.Handler
}

func newJobsAPI(s *Server, cfg JobsConfig, log *slog.Logger) *jobsAPI {
	a := &jobsAPI{Server: s, cfg: cfg, watcher: newWatcher(cfg.Store, cfg.MaxStreams, log)}
	for _, route := range a.routes() {
		i := slices.IndexFunc(a.places, func(p place) bool { return p.pattern == route.pattern })
		if i < 0 {
			i = len(a.places)
			a.places = append(a.places, place{pattern: route.pattern, methods: map[string]jobRoute{}})
		}
		a.places[i].methods[route.method] = route
	}
	for i := range a.places {
		p := &a.places[i]
		p.allowed = allowedAt(p.methods)
		p.handler = s.handle(strings.TrimPrefix(p.pattern, "/"), func(x *exchange) error { return a.answer(x, p) })
	}
	return a
}

// routes is the one list of what /v1 answers.
func (a *jobsAPI) routes() []jobRoute {
	list := []jobRoute{
		{http.MethodPost, "/v1/jobs", writes, a.enqueue},
		{http.MethodGet, "/v1/jobs", reads, a.listJobs},
		{http.MethodGet, "/v1/jobs/{id}", reads, a.showJob},
		{http.MethodPost, "/v1/jobs/{id}/cancel", writes, a.cancelJob},
		{http.MethodPost, "/v1/jobs/{id}/retry", writes, a.retryJob},
		{http.MethodGet, "/v1/jobs/{id}/events", reads, a.streamJob},
		{http.MethodGet, "/v1/jobs/{id}/checkpoints", reads, a.listCheckpoints},
		{http.MethodGet, "/v1/queues", reads, a.listQueues},
		{http.MethodGet, "/v1/workers", reads, a.listWorkers},
		{http.MethodGet, "/v1/openapi.json", open, a.showOpenAPI},
	}
	if a.cfg.Scaling != nil {
		list = append(list, jobRoute{http.MethodGet, "/v1/scaling/decisions", reads, a.listDecisions},
			jobRoute{http.MethodGet, "/v1/scaling/spend", reads, a.showSpend})
	}
	if a.cfg.Uploads != nil {
		list = append(list, jobRoute{http.MethodPost, "/v1/uploads", writes, a.takeUpload})
	}
	if a.cfg.Outputs != nil {
		list = append(list, jobRoute{http.MethodGet, "/v1/outputs/{key...}", reads, a.sendOutput})
	}
	return list
}

// Routes lists what /v1 answers, each as its method and pattern.
func (s *Server) Routes() []string {
	if s.jobs == nil {
		return nil
	}
	var list []string
	for _, route := range s.jobs.routes() {
		list = append(list, route.method+" "+route.pattern)
	}
	return list
}

func allowedAt(methods map[string]jobRoute) string {
	names := []string{http.MethodOptions}
	for name := range methods {
		names = append(names, name)
		if name == http.MethodGet {
			names = append(names, http.MethodHead)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// find is the place of a path and the part of it that the pattern leaves open.
func (a *jobsAPI) find(path string) (*place, string) {
	for i := range a.places {
		if variable, ok := matchPath(a.places[i].pattern, path); ok {
			return &a.places[i], variable
		}
	}
	return nil, ""
}

// matchPath holds path to a pattern, segment by segment.
func matchPath(pattern, path string) (variable string, ok bool) {
	for {
		want, morePattern, inPattern := strings.Cut(pattern, "/")
		if want == "{key...}" {
			return path, path != ""
		}
		have, morePath, inPath := strings.Cut(path, "/")
		switch {
		case strings.HasPrefix(want, "{") && have != "":
			variable = have
		case want != have:
			return "", false
		}
		if !inPattern || !inPath {
			return variable, inPattern == inPath
		}
		pattern, path = morePattern, morePath
	}
}

// serve answers what has a place here.
func (a *jobsAPI) serve(w http.ResponseWriter, r *http.Request, missing http.Handler) {
	if p, _ := a.find(r.URL.Path); p != nil {
		p.handler.ServeHTTP(w, r)
		return
	}
	missing.ServeHTTP(w, r)
}

// takesBody tells whether somebody wants the body of the request.
func (a *jobsAPI) takesBody(r *http.Request) bool {
	p, _ := a.find(r.URL.Path)
	if p == nil || r.Method != http.MethodPost {
		return false
	}
	_, ok := p.methods[r.Method]
	return ok
}

// answer is what all of /v1 share. It gives no leave to scripts of other
// sites: a page that has a token may ask through its own server.
func (a *jobsAPI) answer(x *exchange, p *place) error {
	h := x.w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", lockingPolicy)
	if x.r.Method == http.MethodOptions {
		h.Set("Allow", p.allowed)
		x.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	route, ok := p.methods[x.r.Method]
	if x.r.Method == http.MethodHead {
		route, ok = p.methods[http.MethodGet]
	}
	if !ok {
		h.Set("Allow", p.allowed)
		return media.Errorf(codeMethod, "%.100s is not answered here; this place takes %s.", x.r.Method, p.allowed)
	}
	if n := len(target(x.r)); n > a.Server.cfg.MaxURL {
		return media.Errorf(codeURLTooLong, "The path and query have %d bytes; at most %d are read.", n, a.Server.cfg.MaxURL)
	}
	if route.method == http.MethodPost {
		// It holds for what is refused unread, too: net/http waits for the
		// rest of a body after the answer.
		a.awaitBody(x)
	}
	if err := a.authorize(x, route.access); err != nil {
		return err
	}
	_, variable := a.find(x.r.URL.Path)
	return route.answer(x, variable)
}

// authorize wants a bearer token (RFC 6750). What was given is told to nobody.
func (a *jobsAPI) authorize(x *exchange, needed access) error {
	if needed == open {
		return nil
	}
	scheme, given, _ := strings.Cut(x.r.Header.Get("Authorization"), " ")
	given = strings.TrimSpace(given)
	if !strings.EqualFold(scheme, "Bearer") || given == "" {
		x.w.Header().Set("WWW-Authenticate", `Bearer realm="spillway"`)
		return media.Errorf(codeUnauthorized, "Send a token of this server in the header Authorization: Bearer TOKEN.")
	}
	token, ok := a.cfg.Tokens.find(given)
	if !ok {
		x.w.Header().Set("WWW-Authenticate", `Bearer realm="spillway", error="invalid_token"`)
		return media.Errorf(codeUnauthorized, "The token is not one that this server knows.")
	}
	x.token = token.Name
	if needed == writes && token.ReadOnly {
		x.w.Header().Set("WWW-Authenticate", `Bearer realm="spillway", error="insufficient_scope"`)
		return media.Errorf(codeReadOnly, "The token %s may ask, and change nothing.", token.Name)
	}
	return nil
}

// ask bounds how long the store may take for an answer.
func (x *exchange) ask() (context.Context, context.CancelFunc) {
	return context.WithTimeout(x.r.Context(), storePatience)
}
