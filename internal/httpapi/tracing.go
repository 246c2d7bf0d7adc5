package httpapi

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// startSpan continues the caller's trace (W3C Trace Context) or begins one.
// The query stays out of it, as out of the log.
func (s *Server) startSpan(r *http.Request, route string) (context.Context, trace.Span) {
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	method := knownMethod(r.Method)
	return s.tracer.Start(ctx, method+" "+route, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		attribute.String("http.request.method", method),
		attribute.String("http.route", route),
		attribute.String("url.path", shortPath(r)),
	))
}

// endSpan adds the stages as children, one after the other as they ran, and
// ends the span. Their times are known to the result, which measured them.
func (s *Server) endSpan(x *exchange) {
	if !x.span.IsRecording() {
		return
	}
	if x.worked {
		s.spanStages(x)
	}
	x.span.SetAttributes(
		attribute.Int("http.response.status_code", x.w.status),
		attribute.Int64("http.response.body.size", x.w.bytes),
		attribute.String("spillway.request_id", x.id),
		attribute.String("spillway.source_host", shorten(x.host)),
		attribute.String("spillway.format", string(x.format)),
		attribute.Bool("spillway.cache_hit", x.hit),
	)
	if x.code != "" {
		x.span.SetAttributes(attribute.String("error.type", string(x.code)))
	}
	if x.w.status >= 500 {
		x.span.SetStatus(codes.Error, string(x.code))
	}
	x.span.End()
}

// spanStages makes spans of what was measured. Stages follow each other, but
// for the writing, which goes on while the work does.
func (s *Server) spanStages(x *exchange) {
	at := x.began
	for _, stage := range stagesOf(x) {
		if stage.took == 0 || stage.name == stageFirst {
			continue
		}
		if stage.name == stageWrite {
			at = x.w.began
		}
		_, span := s.tracer.Start(x.r.Context(), stage.name, trace.WithTimestamp(at))
		if stage.name == stageWork && x.timings.First > 0 {
			span.AddEvent("first byte", trace.WithTimestamp(at.Add(x.timings.First)))
		}
		at = at.Add(stage.took)
		span.End(trace.WithTimestamp(at))
	}
}

// stage is one measured step of a request.
type stage struct {
	name string
	took time.Duration
}

// The stages of a request. First is a part of work: up to the first byte.
const (
	stageFetch   = "fetch"
	stageInspect = "inspect"
	stageWait    = "wait"
	stageFirst   = "first"
	stageWork    = "work"
	stageWrite   = "write"
)

func stagesOf(x *exchange) []stage {
	t := x.timings
	return []stage{
		{stageFetch, t.Fetch}, {stageInspect, t.Inspect}, {stageWait, t.Wait},
		{stageFirst, t.First}, {stageWork, t.Work}, {stageWrite, x.written()},
	}
}

// written is how long the client was waited for, where it got a picture.
func (x *exchange) written() time.Duration {
	if !x.worked {
		return 0
	}
	return x.w.blocked
}

// knownMethod keeps invented methods from making names without end.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return method
	}
	return "_OTHER"
}
