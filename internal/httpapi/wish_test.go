package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/spillway-media/spillway/internal/httpapi"
)

func presets(s *settings) {
	s.http.Presets = map[string]string{"card": "sizes=40x0&format=png", "wide": "sizes=80x0"}
}

func presetsOnly(s *settings) { presets(s); s.http.PresetsOnly = true }

func TestPresets(t *testing.T) {
	t.Run("a preset stands for its parameters", func(t *testing.T) {
		if got := body(t, newBench(t, presets).get("/assets/a.jpg?preset=card")); got != "png picture of 40x30" {
			t.Error(got)
		}
	})
	t.Run("what the url says wins", func(t *testing.T) {
		if got := body(t, newBench(t, presets).get("/assets/a.jpg?sizes=20x0&preset=card")); got != "png picture of 20x15" {
			t.Error(got)
		}
	})
	t.Run("a preset works in presets-only mode", func(t *testing.T) {
		if got := body(t, newBench(t, presetsOnly).get("/resize?image_url=a.jpg&preset=card")); got != "png picture of 40x30" {
			t.Error(got)
		}
	})
	faults := []struct {
		name      string
		change    func(*settings)
		target    string
		parameter string
		detail    string
	}{
		{"an unknown preset names the known ones", presets, "/assets/a.jpg?preset=crad", "preset", `preset: "crad" is not known; the presets are card, wide.`},
		{"a preset where there are none", nil, "/assets/a.jpg?preset=card", "preset", "no presets are set up"},
		{"two presets", presets, "/assets/a.jpg?preset=card&preset=wide", "preset", "given 2 times"},
		{"presets-only without a preset", presetsOnly, "/assets/a.jpg", "preset", "preset: missing"},
		{"presets-only with another parameter", presetsOnly, "/assets/a.jpg?preset=card&quality=1", "quality", `"quality" is not accepted`},
	}
	for _, c := range faults {
		t.Run(c.name, func(t *testing.T) {
			p := wantProblem(t, newBench(t, c.change).get(c.target), 400, "invalid-parameter")
			if p.Parameter != c.parameter || !strings.Contains(p.Detail, c.detail) {
				t.Errorf("got %+v", p)
			}
		})
	}
}

func TestURLFaults(t *testing.T) {
	b := newBench(t, nil)
	cases := []struct {
		name, target string
		status       int
		code         string
		parameter    string
	}{
		{"no source", "/resize?sizes=10x0", 400, "invalid-parameter", "image_url"},
		{"an empty source", "/resize?image_url=", 400, "invalid-parameter", "image_url"},
		{"two sources", "/resize?image_url=a&image_url=b", 400, "invalid-parameter", "image_url"},
		{"a source with a NUL", "/resize?image_url=a%00b", 400, "invalid-parameter", "image_url"},
		{"a source in the query of an asset", "/assets/a.jpg?image_url=b.jpg", 400, "invalid-parameter", "image_url"},
		{"an upload, which is for jobs", "/resize?image_url=upload:0123", 400, "invalid-parameter", "image_url"},
		{"an upload at /info", "/info?image_url=upload:0123", 400, "invalid-parameter", "image_url"},
		{"an upload at /srcset", "/srcset?image_url=upload:0123&sizes=10x0", 400, "invalid-parameter", "image_url"},
		{"an upload as an asset", "/assets/upload:0123", 400, "invalid-parameter", "image_url"},
		{"an upload as a watermark", "/resize?image_url=a.jpg&watermark=upload:0123", 400, "invalid-parameter", "watermark"},
		{"a broken escape", "/resize?image_url=a%2", 400, "invalid-parameter", ""},
		{"a bare semicolon", "/resize?image_url=a;b", 400, "invalid-parameter", ""},
		{"a value out of range", "/resize?image_url=a.jpg&quality=101", 400, "invalid-parameter", "quality"},
		{"an unknown parameter", "/resize?image_url=a.jpg&qualty=10", 400, "invalid-parameter", "qualty"},
		{"a picture's parameter at /info", "/info?image_url=a.jpg&sizes=10x0", 400, "invalid-parameter", "sizes"},
		{"no source at /info", "/info", 400, "invalid-parameter", "image_url"},
		{"an asset without a key", "/assets/", 404, "source-not-found", ""},
		{"an http url as a key", "/assets/http://h/a.jpg", 404, "source-not-found", ""},
		{"an http url in capitals as a key", "/assets/HTTPS:%2F%2Fh/a.jpg", 404, "source-not-found", ""},
		{"an s3 url as a key", "/assets/s3://b/a.jpg", 404, "source-not-found", ""},
		{"no route", "/nothing/here", 404, "not-found", ""},
		{"the root without a site", "/", 404, "not-found", ""},
		{"a longer url than is read", "/assets/" + strings.Repeat("a", 8192), 414, "url-too-long", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if p := wantProblem(t, b.get(c.target), c.status, c.code); p.Parameter != c.parameter {
				t.Errorf("parameter is %q, want %q", p.Parameter, c.parameter)
			}
		})
	}
	if ref := b.source.lastRef(); ref != "" {
		t.Errorf("%q was fetched", ref)
	}
}

func TestMethods(t *testing.T) {
	b := newBench(t, nil)
	for _, target := range []string{"/resize?image_url=a.jpg", "/assets/a.jpg", "/info?image_url=a.jpg", "/healthz", "/readyz"} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, "BREW"} {
			t.Run(method+" "+target, func(t *testing.T) {
				wantProblem(t, ask(b.public, method, target), 405, "method-not-allowed")
			})
		}
	}
}

func TestClientHints(t *testing.T) {
	cases := []struct {
		name    string
		query   string
		headers []string
		want    string
	}{
		{"width is in physical pixels", "", []string{"Sec-CH-Width: 200", "Sec-CH-DPR: 2"}, "png picture of 200x150"},
		{"the older spelling counts", "", []string{"Width: 200"}, "png picture of 200x150"},
		{"the newer spelling wins", "", []string{"Width: 200", "Sec-CH-Width: 100"}, "png picture of 100x75"},
		{"the viewport is in css pixels", "", []string{"Sec-CH-Viewport-Width: 100", "Sec-CH-DPR: 1.5"}, "png picture of 150x113"},
		{"a viewport alone counts once", "", []string{"Viewport-Width: 100"}, "png picture of 100x75"},
		{"the url's dpr wins over the hint", "&dpr=2", []string{"Viewport-Width: 100", "DPR: 3"}, "png picture of 200x150"},
		{"a ratio alone changes nothing", "", []string{"DPR: 2"}, "png picture of 400x300"},
		{"the url's size wins", "&sizes=40x0", []string{"Width: 200", "DPR: 2"}, "png picture of 40x30"},
		{"nothing is enlarged", "", []string{"Width: 4000"}, "png picture of 400x300"},
		{"nonsense is ignored", "", []string{"Width: wide", "DPR: -1", "Viewport-Width: NaN"}, "png picture of 400x300"},
		{"a width beyond all limits is cut", "", []string{"Width: 2147483647"}, "png picture of 400x300"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := body(t, newBench(t, hints).get("/assets/a.jpg?format=png"+c.query, c.headers...)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	t.Run("hints are not read unless enabled", func(t *testing.T) {
		if got := body(t, newBench(t, nil).get("/assets/a.jpg?format=png", "Width: 40")); got != "png picture of 400x300" {
			t.Error(got)
		}
	})
}

func TestConfigFaultsAreAllNamed(t *testing.T) {
	cfg := httpapi.DefaultConfig()
	cfg.MaxURL, cfg.MaxAge, cfg.ErrorMaxAge, cfg.StallTimeout = 1, -1, -1, 0
	cfg.Keys = [][]byte{[]byte("short")}
	cfg.AllowOrigin = "example.com/path"
	cfg.Presets = map[string]string{"bad": "quality=500&sizs=1x1", "unsafe": "image_url=x", "broken": "a=%zz"}
	err := cfg.Validate()
	if err == nil {
		t.Fatal("nothing is wrong")
	}
	for _, key := range []string{"max-url-bytes", "cache-max-age", "error-max-age", "stall-timeout", "signature-keys", "cors-origin", "presets.bad.quality: ", "presets.bad.sizs: ", "presets.unsafe.image_url: ", "presets.broken: "} {
		if !strings.Contains(err.Error(), key) {
			t.Errorf("%s is not named in %v", key, err)
		}
	}
	if strings.Contains(err.Error(), "invalid-parameter") {
		t.Errorf("a code of answers is told to an operator: %v", err)
	}
	cfg = httpapi.DefaultConfig()
	cfg.PresetsOnly = true
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "presets-only") {
		t.Errorf("presets-only without presets gives %v", err)
	}
	if err := httpapi.DefaultConfig().Validate(); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
}
