package httpapi

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/spool"
	"github.com/spillway-media/spillway/internal/transform"
)

// Config is everything the HTTP edge can be told. DefaultConfig has the
// values in brackets.
type Config struct {
	// Limits bound what parameters may ask for.
	Limits media.Limits
	// Keys verify signatures. The first is the current one, the others are
	// still accepted while clients move to it. None: unsigned URLs pass.
	Keys [][]byte
	// Presets are parameter strings by name, as they would stand in a URL.
	Presets map[string]string
	// PresetsOnly refuses every other parameter in a URL (false).
	PresetsOnly bool
	// MaxURL is the longest request target in bytes (8,192).
	MaxURL int

	// MaxAge is how long an answer may be kept by caches (24 h).
	MaxAge time.Duration
	// ErrorMaxAge lets caches keep lasting faults, such as a missing source
	// or a broken picture, for a while; 0 forbids it (0).
	ErrorMaxAge time.Duration
	// HonourOrigin takes the origin's max-age over MaxAge when it has one (false).
	HonourOrigin bool
	// ClientHints reads Width, DPR and Viewport-Width hints (false).
	ClientHints bool
	// AllowOrigin is who may read answers from a script: "*", one origin, or
	// "" for nobody ("*").
	AllowOrigin string
	// StallTimeout ends an answer whose client takes no byte for so long (30 s).
	StallTimeout time.Duration
	// MinWriteRate is how many bytes a second a client takes at least, over
	// its whole answer; what it does not take lies in memory or on disk. 0
	// waits for any client that does not stall (2 KiB).
	MinWriteRate int64

	// MetricsOnPublic serves /metrics and /debug/h2 on the public handler too (false).
	MetricsOnPublic bool
	// Site has paths of its own beside the routes, such as the playground's;
	// nil has none.
	Site Site

	// Spools and Engine are asked when metrics are collected; nil leaves
	// their metrics out.
	Spools interface{ Stats() spool.Stats }
	Engine func() EngineStats
	// Origins tells of those that originals come from, for metrics; nil has
	// none to tell of.
	Origins func() []source.OriginStats
	// Pools tells of the worker pools for metrics and /debug/pools; nil has
	// none to tell of.
	Pools func() []transform.Pool
	// H2 are the listeners whose HTTP/2 connections /debug/h2 and metrics tell
	// of. It is asked at each request; nil has none.
	H2 func() []H2Listener
	// Jobs is what /v1 is made of; nil has no /v1.
	Jobs *JobsConfig
	// JobStats are where metrics of jobs are read, with or without /v1; nil
	// has none.
	JobStats *JobStats
	// Fleet tells of the scheduler of this process for metrics, and false before
	// it has one; nil has none.
	Fleet func() (fleet.Stats, bool)
	// Tracer makes the spans; nil makes none.
	Tracer trace.TracerProvider
	// Now is the clock (time.Now).
	Now func() time.Time
}

// Site is what lies beside the API. It is asked for the paths it has with GET
// and HEAD only; all else is the edge's to refuse.
type Site interface {
	http.Handler
	Has(path string) bool
}

// EngineStats is what the pixel engine tells of its memory.
type EngineStats struct {
	MemoryBytes, Allocations, OpenFiles int64
}

// DefaultConfig has every default set.
func DefaultConfig() Config {
	return Config{
		Limits: media.DefaultLimits(), MaxURL: 8192, MaxAge: 24 * time.Hour,
		AllowOrigin: "*", StallTimeout: 30 * time.Second, MinWriteRate: 2 << 10,
		Now: time.Now,
	}
}

// Validate joins every fault, each naming its key and range.
func (c Config) Validate() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.MaxURL < 256 || c.MaxURL > 1<<20 {
		fault("max-url-bytes: %d is not within 256 to 1048576", c.MaxURL)
	}
	checkSpan := func(key string, value, low, high time.Duration) {
		if value < low || value > high {
			fault("%s: %s is not within %s to %s", key, value, low, high)
		}
	}
	checkSpan("cache-max-age", c.MaxAge, 0, 10*365*24*time.Hour)
	checkSpan("error-max-age", c.ErrorMaxAge, 0, time.Hour)
	checkSpan("stall-timeout", c.StallTimeout, time.Second, time.Hour)
	if c.MinWriteRate < 0 || c.MinWriteRate > 1<<30 {
		fault("min-write-rate: %d is not within 0 to 1073741824 bytes a second", c.MinWriteRate)
	}
	for i, key := range c.Keys {
		if len(key) < 16 {
			fault("signature-keys: key %d has %d bytes, at least 16 are needed", i+1, len(key))
		}
	}
	if err := validateOrigin(c.AllowOrigin); err != nil {
		errs = append(errs, err)
	}
	if _, err := parsePresets(c.Presets, c.Limits); err != nil {
		errs = append(errs, err)
	}
	if c.Jobs != nil {
		errs = append(errs, c.Jobs.validate())
	}
	if c.PresetsOnly && len(c.Presets) == 0 {
		fault("presets-only: no presets are set, so no request could be answered")
	}
	return errors.Join(errs...)
}

// validateOrigin accepts what Access-Control-Allow-Origin can hold.
func validateOrigin(origin string) error {
	if origin == "" || origin == "*" {
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme == "" || u.Host == "" || origin != u.Scheme+"://"+u.Host {
		return fmt.Errorf("cors-origin: %q is neither *, empty nor an origin such as https://www.example.com", origin)
	}
	return nil
}

// parsePresets turns the configured strings into the values they stand for.
// Each fault is one line that names preset and parameter.
func parsePresets(presets map[string]string, limits media.Limits) (map[string]url.Values, error) {
	var errs []error
	parsed := make(map[string]url.Values, len(presets))
	for _, name := range slices.Sorted(maps.Keys(presets)) {
		values, err := parseQuery(strings.TrimPrefix(presets[name], "?"))
		if err != nil {
			errs = append(errs, presetFault(name, err))
			continue
		}
		for _, fault := range presetFaults(values, limits) {
			errs = append(errs, presetFault(name, fault))
		}
		parsed[name] = values
	}
	return parsed, errors.Join(errs...)
}

// edgeNames are the parameters that only a URL has.
var edgeNames = []string{"image_url", "preset", "expires", "signature"}

func presetFaults(values url.Values, limits media.Limits) (faults []error) {
	own := maps.Clone(values)
	for _, name := range edgeNames {
		if values.Has(name) {
			faults = append(faults, invalid(name, "%s: stands in the URL, never in a preset.", name))
			delete(own, name)
		}
	}
	return append(faults, media.Faults(own, limits)...)
}

// presetFault words a fault of a request as one of the settings: what the
// operator wrote leads, and the code, which is for clients, is left out.
func presetFault(name string, err error) error {
	key, what := "presets."+name, err.Error()
	var fault *media.Error
	if errors.As(err, &fault) {
		what = strings.TrimSuffix(fault.Detail, ".")
		if fault.Param != "" {
			key += "." + fault.Param
			what = strings.TrimPrefix(what, fault.Param+": ")
		}
	}
	return fmt.Errorf("%s: %s", key, what)
}
