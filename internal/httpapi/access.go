package httpapi

import (
	"log/slog"
	"net/http"
	"regexp"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/spillway-media/spillway/internal/media"
)

// longestText bounds each text of a log line that somebody else wrote.
const longestText = 512

// secrets are the parts of a URL that may open doors: its query, where
// signatures stand, and a user with a password. Between quotes a query goes on
// to the closing one, since it may be decoded and hold anything.
var (
	secrets       = regexp.MustCompile(`\?[^\s"'<>]*|//[^\s/@"']*@`)
	quotedSecrets = regexp.MustCompile(`("(?:\\.|[^"\\?])*)\?(?:\\.|[^"\\])*`)
)

// withoutSecrets is what a log may show of an error.
func withoutSecrets(text string) string {
	return secrets.ReplaceAllString(quotedSecrets.ReplaceAllString(text, "$1…"), "…")
}

// logAccess writes the one line of a request. The query is never in it.
func (s *Server) logAccess(x *exchange, took time.Duration) {
	level := accessLevel(x)
	if !s.log.Enabled(x.r.Context(), level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("request_id", x.id),
		slog.String("protocol", x.r.Proto),
		slog.String("method", shorten(x.r.Method)),
		slog.String("route", x.route),
		slog.String("path", shortPath(x.r)),
		slog.Int("status", x.w.status),
		slog.Int64("bytes", x.w.bytes),
		slog.Float64("duration_ms", milliseconds(took)),
	}
	s.log.LogAttrs(x.r.Context(), level, "request", append(attrs, x.facts()...)...)
}

// accessLevel keeps probes, and a page that asks each second, out of the way and makes faults stand out; being
// busy is none.
func accessLevel(x *exchange) slog.Level {
	switch {
	case x.w.status >= 500 && x.w.status != http.StatusServiceUnavailable, x.broken && x.code != media.CodeCancelled:
		return slog.LevelError
	case x.route == "healthz" || x.route == "readyz" || x.route == "metrics" || x.route == "h2":
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// facts are the attributes that only some requests have.
func (x *exchange) facts() []slog.Attr {
	var attrs []slog.Attr
	if x.host != "" {
		attrs = append(attrs, slog.String("source_host", shorten(x.host)))
	}
	if x.token != "" {
		attrs = append(attrs, slog.String("token_name", x.token))
	}
	if x.worked {
		attrs = append(attrs,
			slog.Bool("cache_hit", x.hit),
			slog.Float64("fetch_ms", milliseconds(x.timings.Fetch)),
			slog.Float64("wait_ms", milliseconds(x.timings.Wait)),
			slog.Float64("first_ms", milliseconds(x.timings.First)),
			slog.Float64("work_ms", milliseconds(x.timings.Work)),
			slog.Float64("write_ms", milliseconds(x.w.blocked)))
	}
	if x.format != "" {
		attrs = append(attrs, slog.String("format", string(x.format)))
	}
	if x.broken {
		attrs = append(attrs, slog.Bool("broken", true))
	}
	if x.code != "" {
		attrs = append(attrs, slog.String("code", string(x.code)))
	}
	if x.err != nil {
		attrs = append(attrs, slog.String("error", shorten(withoutSecrets(x.err.Error()))))
	}
	if id := trace.SpanContextFromContext(x.r.Context()).TraceID(); id.IsValid() {
		attrs = append(attrs, slog.String("trace_id", id.String()))
	}
	return attrs
}

func shortPath(r *http.Request) string {
	return shorten(r.URL.EscapedPath())
}

func shorten(text string) string { return text[:min(len(text), longestText)] }
