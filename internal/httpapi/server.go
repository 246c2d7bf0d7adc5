package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/transform"
)

// Transformer makes pictures; *transform.Service is the one there is. Its
// errors are *media.Error.
type Transformer interface {
	// Do makes the pictures of a job. The caller closes the result.
	Do(ctx context.Context, job transform.Job) (*transform.Result, error)
	// DoAll makes those of several jobs of one source, all or none of them.
	DoAll(ctx context.Context, jobs []transform.Job) ([]*transform.Result, error)
	// Info describes a source; fresh is asked as in Job.Fresh.
	Info(ctx context.Context, ref string, fresh func(key string, modified time.Time) (string, bool)) (*transform.Details, error)
	Pulse
}

// Pulse tells how the work goes. It answers at once, whatever runs.
type Pulse interface {
	Stats() transform.Stats
	// Ready is nil, or why new work is of no use here at the moment.
	Ready(now time.Time) error
	// RetryAfter is when who was refused should come back.
	RetryAfter() time.Duration
}

const (
	resizePath     = "/resize"
	infoPath       = "/info"
	srcsetPath     = "/srcset"
	assetsPrefix   = "/assets/"
	h2Path         = "/debug/h2"
	allowedMethods = "GET, HEAD, OPTIONS"
)

// Server holds what all requests share. It is immutable but for its metrics,
// which guard themselves.
type Server struct {
	cfg     Config
	images  Transformer
	presets map[string]url.Values
	jobs    *jobsAPI // nil without
	h2page  *h2page
	metrics *metrics
	tracer  trace.Tracer
	log     *slog.Logger
}

// New checks cfg and builds a server around images.
func New(cfg Config, images Transformer, log *slog.Logger) (*Server, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Jobs != nil {
		own := *cfg.Jobs
		own.setDefaults()
		cfg.Jobs = &own
	}
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("check http settings: %w", err)
	}
	presets, err := parsePresets(cfg.Presets, cfg.Limits)
	if err != nil {
		return nil, fmt.Errorf("parse presets: %w", err)
	}
	if cfg.Tracer == nil {
		cfg.Tracer = noop.NewTracerProvider()
	}
	page, err := newH2Page()
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, images: images, presets: presets, log: log, h2page: page,
		metrics: newMetrics(images, cfg),
		tracer:  cfg.Tracer.Tracer("github.com/spillway-media/spillway/internal/httpapi"),
	}
	if cfg.Jobs != nil {
		s.jobs = newJobsAPI(s, *cfg.Jobs, log)
	}
	return s, nil
}

// Run does what goes on between requests: it watches the jobs whose events
// are streamed. When ctx ends it ends the streams, which would otherwise keep
// an orderly stop waiting, and takes no new ones.
func (s *Server) Run(ctx context.Context) error {
	if s.jobs == nil {
		<-ctx.Done()
		return nil
	}
	s.jobs.watcher.run(ctx)
	return nil
}

// public is the handler for clients. It says which requests have a body that
// is wanted, since the listener takes in all others.
type public struct {
	http.HandlerFunc
	jobs *jobsAPI // nil without
}

// TakesBody tells whether the route of r reads its body, within limits of
// its own.
func (p public) TakesBody(r *http.Request) bool { return p.jobs != nil && p.jobs.takesBody(r) }

// Public is the handler for clients.
func (s *Server) Public() http.Handler {
	var (
		resize  = s.handle("resize", s.api(s.negotiable(s.guarded(s.answerResize))))
		assets  = s.handle("assets", s.api(s.negotiable(s.guarded(s.answerAsset))))
		info    = s.handle("info", s.api(s.guarded(s.answerInfo)))
		sets    = s.handle("srcset", s.api(s.negotiable(s.guarded(s.answerSrcset))))
		health  = s.handle("healthz", s.answerHealth)
		ready   = s.handle("readyz", s.answerReady)
		scrape  = s.handle("metrics", s.answerMetrics)
		streams = s.handle("h2", s.answerH2)
		missing = s.handle("none", s.api(s.answerMissing))
		site    = s.handle("site", s.answerSite)
	)
	return public{jobs: s.jobs, HandlerFunc: func(w http.ResponseWriter, r *http.Request) {
		// The mux of net/http would redirect paths with // or .. in them,
		// which would break signatures and keys; these routes are few.
		path := r.URL.Path
		switch {
		case path == resizePath:
			resize.ServeHTTP(w, r)
		case strings.HasPrefix(path, assetsPrefix):
			assets.ServeHTTP(w, r)
		case path == infoPath:
			info.ServeHTTP(w, r)
		case path == srcsetPath:
			sets.ServeHTTP(w, r)
		case path == "/healthz":
			health.ServeHTTP(w, r)
		case path == "/readyz":
			ready.ServeHTTP(w, r)
		case path == "/metrics" && s.cfg.MetricsOnPublic:
			scrape.ServeHTTP(w, r)
		case path == h2Path && s.cfg.MetricsOnPublic:
			streams.ServeHTTP(w, r)
		case s.jobs != nil && strings.HasPrefix(path, jobsPrefix):
			s.jobs.serve(w, r, missing)
		case s.cfg.Site != nil && s.cfg.Site.Has(path):
			site.ServeHTTP(w, r)
		default:
			missing.ServeHTTP(w, r)
		}
	}}
}

// api is what all answers to programs share.
func (s *Server) api(h handler) handler {
	return func(x *exchange) error {
		s.setAccess(x.w.Header())
		if x.r.Method == http.MethodOptions {
			return s.preflight(x)
		}
		return h(x)
	}
}

// negotiable routes may choose a format by Accept. Until a URL is understood
// so may the fault that is answered, whatever it is.
func (s *Server) negotiable(h handler) handler {
	return func(x *exchange) error {
		x.setVary(true, s.cfg.ClientHints)
		return h(x)
	}
}

// guarded refuses other methods and overlong URLs before anything is read.
func (s *Server) guarded(h handler) handler {
	return func(x *exchange) error {
		if x.r.Method != http.MethodGet && x.r.Method != http.MethodHead {
			return refuseMethod(x, allowedMethods)
		}
		if n := len(target(x.r)); n > s.cfg.MaxURL {
			return media.Errorf(codeURLTooLong, "The path and query have %d bytes; at most %d are read.", n, s.cfg.MaxURL)
		}
		return h(x)
	}
}

func refuseMethod(x *exchange, allowed string) error {
	x.w.Header().Set("Allow", allowed)
	return media.Errorf(codeMethod, "%.100s is not answered here; use GET or HEAD.", x.r.Method)
}

func (s *Server) answerMissing(*exchange) error {
	const pictures = "This server answers /resize, /assets/{key}, /srcset, /info, /healthz and /readyz"
	if s.jobs != nil {
		return media.Errorf(codeNotFound, pictures+", and for jobs what /v1/openapi.json lists.")
	}
	return media.Errorf(codeNotFound, pictures+".")
}

// answerSite hands on to the site. Browsers send hints with pictures only when
// the page around them asked.
func (s *Server) answerSite(x *exchange) error {
	if x.r.Method != http.MethodGet && x.r.Method != http.MethodHead {
		return refuseMethod(x, "GET, HEAD")
	}
	if s.cfg.ClientHints {
		x.w.Header().Set("Accept-CH", hintsAsked)
	}
	s.cfg.Site.ServeHTTP(x.w, x.r)
	return nil
}
