package transform_test

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/spool"
	"github.com/spillway-media/spillway/internal/transform"
)

// datedSource serves bytes with what an origin told of them.
type datedSource map[string]struct {
	text string
	meta source.Meta
}

func (d datedSource) Open(_ context.Context, ref string) (*source.Object, error) {
	found := d[ref]
	return &source.Object{Meta: found.meta, Body: io.NopCloser(strings.NewReader(found.text))}, nil
}

// ask makes a picture of a.jpg with w.png on it.
func (d datedSource) ask(t *testing.T) *transform.Result {
	t.Helper()
	spools, err := spool.NewPool(spool.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	engine := &scriptEngine{info: photo(), run: writeAll}
	service, err := transform.New(transform.DefaultConfig(2, 1<<30), engine, d, spools, transform.Stores{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	keepRunning(t, service)
	j := job()
	if _, marked := d["w.png"]; marked {
		j.Request.Watermark = &media.Watermark{URL: "w.png", Opacity: 1}
	}
	res, err := service.Do(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		res.Close()
		if err := service.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return res
}

func TestFreshnessIsThatOfSourceAndWatermark(t *testing.T) {
	old, recent := time.Unix(1_000_000, 0), time.Unix(2_000_000, 0)
	known := func(modified time.Time, age time.Duration) source.Meta {
		return source.Meta{ETag: `"1"`, Size: -1, LastModified: modified, MaxAge: age}
	}
	cases := map[string]struct {
		source, overlay source.Meta
		modified        time.Time
		age             time.Duration
	}{
		"a newer watermark makes the picture newer":                {known(old, -1), known(recent, -1), recent, -1},
		"an older watermark leaves it as it is":                    {known(recent, -1), known(old, -1), recent, -1},
		"a watermark of unknown time leaves the time unknown":      {known(old, -1), known(time.Time{}, -1), time.Time{}, -1},
		"a source of unknown time leaves the time unknown":         {known(time.Time{}, -1), known(old, -1), time.Time{}, -1},
		"the shorter life counts when it is the watermark's":       {known(old, time.Hour), known(old, time.Minute), old, time.Minute},
		"the shorter life counts when it is the source's":          {known(old, 0), known(old, time.Minute), old, 0},
		"a watermark's life counts where the source tells none":    {known(old, -1), known(old, time.Minute), old, time.Minute},
		"a source's life counts where the watermark tells none":    {known(old, time.Hour), known(old, -1), old, time.Hour},
		"an end that may be a cut is one in the watermark as well": {known(old, -1), source.Meta{ETag: `"1"`, Size: -1, MaxAge: -1, LastModified: old, OpenEnded: true}, time.Time{}, -1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := datedSource{"a.jpg": {"a", c.source}, "w.png": {"w", c.overlay}}
			res := d.ask(t)
			if !res.LastModified.Equal(c.modified) || res.Source.MaxAge != c.age || res.Source.OpenEnded != c.overlay.OpenEnded {
				t.Errorf("got time %v, life %s, open end %t", res.LastModified, res.Source.MaxAge, res.Source.OpenEnded)
			}
		})
	}
}

// The origin's tag names bytes that may have come in part, so it cannot name
// the result: a client that got the part would be told for ever that it is up
// to date.
func TestACutThatCannotBeSeenIsToldApartByItsBytes(t *testing.T) {
	meta := source.Meta{ETag: `"1"`, Size: -1, MaxAge: -1, OpenEnded: true, LastModified: time.Unix(1, 0)}
	part := datedSource{"a.jpg": {"half", meta}}.ask(t)
	whole := datedSource{"a.jpg": {"half and half", meta}}.ask(t)
	if part.ETag == whole.ETag || !part.LastModified.IsZero() {
		t.Errorf("both have the tag %s; modified %v", part.ETag, part.LastModified)
	}
}
