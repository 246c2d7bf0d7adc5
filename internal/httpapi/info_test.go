package httpapi_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/httpapi"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/transform"
)

func infoOf(t *testing.T, b *bench) map[string]any {
	t.Helper()
	res := b.get("/info?image_url=a.jpg")
	if res.StatusCode != 200 {
		t.Fatal(body(t, res))
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(body(t, res)), &got); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestInfo(t *testing.T) {
	t.Run("a photo stored sideways", func(t *testing.T) {
		want := map[string]any{
			"format": "jpeg", "content_type": "image/jpeg", "width": 400.0, "height": 300.0,
			"stored_width": 300.0, "stored_height": 400.0, "orientation": 6.0,
			"bytes": float64(len("source bytes of a.jpg")), "frames": 1.0, "pages": 1.0,
			"animated": false, "alpha": false, "delays_ms": []any{}, "plays": 0.0, "duration_ms": 0.0,
			"colour_space": "srgb", "bit_depth": 8.0, "bands": 3.0, "icc_profile": true, "progressive": false,
			"dominant_colour": "#12abff",
		}
		got := infoOf(t, newBench(t, nil))
		if hash, _ := got["blurhash"].(string); len(hash) != 28 {
			t.Errorf("blurhash is %q, want 28 characters for 4 x 3", hash)
		}
		if hash, _ := got["thumbhash"].(string); len(hash) < 24 {
			t.Errorf("thumbhash is %q", hash)
		}
		if uri, _ := got["lqip"].(string); !strings.HasPrefix(uri, "data:image/png;base64,") {
			t.Errorf("lqip is %q", uri)
		}
		for _, name := range []string{"blurhash", "thumbhash", "lqip"} {
			delete(got, name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("an animation", func(t *testing.T) {
		b := newBench(t, nil)
		b.engine.info = media.Info{
			Format: media.GIF, Width: 10, Height: 10, Orientation: 1, Frames: 3, Animated: true,
			Delays: []int{100, 50, 70}, Plays: 2, Bands: 4, Alpha: true, BitDepth: 8, Colourspace: "srgb",
		}
		got := infoOf(t, b)
		if got["frames"] != 3.0 || got["pages"] != 1.0 || got["duration_ms"] != 220.0 || got["plays"] != 2.0 || got["alpha"] != true {
			t.Errorf("got %v", got)
		}
	})
	t.Run("a document of several pages", func(t *testing.T) {
		b := newBench(t, nil)
		b.engine.info = media.Info{Format: media.TIFF, Width: 10, Height: 10, Orientation: 1, Frames: 5, Bands: 3, BitDepth: 8, Colourspace: "srgb"}
		if got := infoOf(t, b); got["frames"] != 1.0 || got["pages"] != 5.0 || got["animated"] != false {
			t.Errorf("got %v", got)
		}
	})
	t.Run("a known tag is answered without work", func(t *testing.T) {
		b := newBench(t, nil)
		etag := b.get("/info?image_url=a.jpg").Header.Get("ETag")
		reads := b.source.reads
		if res := b.get("/info?image_url=a.jpg", "If-None-Match: "+etag); res.StatusCode != 304 || b.source.reads != reads {
			t.Errorf("got %d and %d reads", res.StatusCode, b.source.reads-reads)
		}
	})
	t.Run("a missing source", func(t *testing.T) {
		wantProblem(t, newBench(t, nil).get("/info?image_url=missing"), 404, "source-not-found")
	})
}

// described gives one description, whatever is asked.
type described struct {
	httpapi.Transformer
	details *transform.Details
}

func (d described) Info(context.Context, string, func(string, time.Time) (string, bool)) (*transform.Details, error) {
	return d.details, nil
}

func TestInfoTellsWhereItComesFrom(t *testing.T) {
	for name, c := range map[string]struct {
		details     transform.Details
		age, status string
	}{
		"made now":            {transform.Details{}, "public, max-age=86400", "spillway; fwd=miss"},
		"of a stale original": {transform.Details{Stale: true}, "public, max-age=60", "spillway; fwd=stale"},
		"what the client has": {transform.Details{NotModified: true}, "public, max-age=86400", "spillway; hit"},
		"and may be old":      {transform.Details{NotModified: true, Stale: true}, "public, max-age=60", "spillway; hit; detail=stale"},
	} {
		t.Run(name, func(t *testing.T) {
			c.details.Source.MaxAge = -1
			c.details.Summary = transform.Summary{Thumb: make([]byte, 4), Width: 1, Height: 1}
			server, err := httpapi.New(httpapi.DefaultConfig(), described{details: &c.details}, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			h := ask(server.Public(), http.MethodGet, "/info?image_url=a.jpg").Header
			if h.Get("Cache-Control") != c.age || h.Get("Cache-Status") != c.status {
				t.Errorf("got %q and %q", h.Get("Cache-Control"), h.Get("Cache-Status"))
			}
		})
	}
}
