package httpapi_test

import (
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func TestSpans(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	b := newBench(t, func(s *settings) {
		s.http.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	})
	const parent = "4bf92f3577b34da6a3ce929d0e0e4736"
	b.get("/resize?image_url=a.jpg&format=png&signature=secret", "traceparent: 00-"+parent+"-00f067aa0ba902b7-01")
	b.get("/assets/missing")
	names := map[string]bool{}
	for _, span := range spans.Ended() {
		names[span.Name()] = true
		if span.Name() == "GET resize" {
			if got := span.SpanContext().TraceID().String(); got != parent || !span.Parent().IsRemote() {
				t.Errorf("the caller's trace %s is not continued but %s begun", parent, got)
			}
		}
		for _, attr := range span.Attributes() {
			if attr.Value.String() == "secret" {
				t.Errorf("%s shows a signature in %s", span.Name(), attr.Key)
			}
		}
	}
	for _, name := range []string{"GET resize", "GET assets", "fetch", "inspect", "wait", "work", "write"} {
		if !names[name] {
			t.Errorf("there is no span %q among %v", name, names)
		}
	}
	if line := b.logged.lines(t)[0]; line["trace_id"] != parent {
		t.Errorf("the log has trace %v", line["trace_id"])
	}
}
