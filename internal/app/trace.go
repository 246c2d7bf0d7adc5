package app

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// flushTimeout bounds how long the last spans may take to leave. A collector
// that is gone must not hold up the end of the process.
const flushTimeout = 3 * time.Second

// tracesPath is where a collector takes traces when the setting names only
// its host (OTLP specification, "OTLP/HTTP Request").
const tracesPath = "/v1/traces"

// tracing is where spans go, and how the last of them are sent.
type tracing struct {
	provider trace.TracerProvider
	flush    func(context.Context) error
}

// newTracing exports spans when a collector is configured, by our setting or
// by the usual variables of OpenTelemetry, which the exporter reads itself.
func newTracing(ctx context.Context, endpoint, version string, log *slog.Logger) (tracing, error) {
	if endpoint == "" && !collectorInEnvironment() {
		return tracing{noop.NewTracerProvider(), func(context.Context) error { return nil }}, nil
	}
	exporter, err := otlptracehttp.New(ctx, endpointOptions(endpoint)...)
	if err != nil {
		return tracing{}, fmt.Errorf("start trace exporter: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.Warn("traces not sent", "error", err)
	}))
	described, err := resource.Merge(
		resource.NewSchemaless(attribute.String("service.name", "spillway"), attribute.String("service.version", version)),
		resource.Environment(),
	)
	if err != nil {
		return tracing{}, fmt.Errorf("describe trace resource: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(described))
	return tracing{provider, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, flushTimeout)
		defer cancel()
		return provider.Shutdown(ctx)
	}}, nil
}

func collectorInEnvironment() bool {
	return cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")) != ""
}

func endpointOptions(endpoint string) []otlptracehttp.Option {
	if endpoint == "" {
		return nil
	}
	if address, err := url.Parse(endpoint); err == nil && (address.Path == "" || address.Path == "/") {
		endpoint = address.JoinPath(tracesPath).String()
	}
	return []otlptracehttp.Option{otlptracehttp.WithEndpointURL(endpoint)}
}
