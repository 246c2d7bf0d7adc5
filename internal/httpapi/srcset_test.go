package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/httpapi"
)

// set is the answer of /srcset as a page reads it.
type set struct {
	Source struct{ Width, Height int }
	Src    string
	Srcset string
	Images []struct {
		URL           string
		Width, Height int
		Format        string
		Bytes         int
	}
	Placeholder map[string]string
}

func getSet(t *testing.T, b *bench, target string) (set, *http.Response) {
	t.Helper()
	res := b.get(target)
	text := body(t, res)
	var got set
	if err := json.Unmarshal([]byte(text), &got); err != nil || res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%s: %v: %s", res.Status, err, text)
	}
	return got, res
}

func TestSrcset(t *testing.T) {
	b := newBench(t, nil)
	got, _ := getSet(t, b, "/srcset?image_url=p/cat%201.jpg&sizes=40x0,80x0,20x20&format=png&quality=60&fit=cover")
	url := func(size string) string {
		return "/resize?fit=cover&format=png&image_url=p%2Fcat+1.jpg&quality=60&sizes=" + size
	}
	if got.Src != url("40x0") || got.Srcset != url("40x0")+" 40w, "+url("80x0")+" 80w, "+url("20x20")+" 20w" {
		t.Errorf("src is %s, srcset %s", got.Src, got.Srcset)
	}
	if got.Source.Width != 400 || len(got.Images) != 3 || len(got.Placeholder) != 4 || got.Placeholder["color"] != "#12abff" {
		t.Errorf("got %+v", got)
	}
	runs := b.engine.runs.Load()
	if runs != 1 {
		t.Errorf("%d runs for one set", runs)
	}
	waitIdle(t, b)
	for _, picture := range got.Images {
		res := b.get(picture.URL)
		text := body(t, res)
		if res.StatusCode != 200 || res.Header.Get("Cache-Status") != "spillway; hit" || b.engine.runs.Load() != runs {
			t.Errorf("%s is not there already: %s, %s", picture.URL, res.Status, res.Header.Get("Cache-Status"))
		}
		want := "png picture of " + strconv.Itoa(picture.Width) + "x" + strconv.Itoa(picture.Height)
		if text != want || picture.Bytes != len(want) || picture.Format != "png" {
			t.Errorf("%+v is %q", picture, text)
		}
	}
}

func TestSrcsetNamesEachWidthOnce(t *testing.T) {
	got, _ := getSet(t, newBench(t, nil), "/srcset?image_url=a.jpg&sizes=300x0,800x0,1600x0&format=png")
	if strings.Count(got.Srcset, " 400w") != 1 || strings.Count(got.Srcset, ", ") != 1 || len(got.Images) != 3 {
		t.Errorf("srcset is %s of %+v", got.Srcset, got.Images)
	}
}

func TestSrcsetSignsWhatItNames(t *testing.T) {
	other := []byte("another key of so many bytes")
	b := newBench(t, func(s *settings) {
		s.http.Keys = [][]byte{testKey, other}
		s.http.Now = func() time.Time { return now }
	})
	expires := strconv.FormatInt(now.Unix()+90, 10)
	target := "/srcset?image_url=a.jpg&sizes=40x0,80x0&format=png&placeholders=color&expires=" + expires
	wantProblem(t, b.get(target), 403, "signature-missing")
	got, res := getSet(t, b, httpapi.SignURL(other, target))
	if res.Header.Get("Cache-Control") != "public, max-age=90" {
		t.Errorf("kept for %s", res.Header.Get("Cache-Control"))
	}
	for _, picture := range got.Images {
		if !strings.Contains(picture.URL, "?expires="+expires+"&") || strings.Count(picture.URL, "signature=") != 1 {
			t.Errorf("got %s", picture.URL)
		}
		if err := httpapi.Verify([][]byte{testKey}, picture.URL, now); err != nil {
			t.Error(err)
		}
		if res := b.get(picture.URL); res.StatusCode != 200 {
			t.Errorf("%s gives %s", picture.URL, res.Status)
		}
	}
	if diff := cmp.Diff(map[string]string{"color": "#12abff"}, got.Placeholder); diff != "" {
		t.Error(diff)
	}
}

func TestSrcsetAnswersConditionsAndHEAD(t *testing.T) {
	b := newBench(t, nil)
	const target = "/srcset?image_url=a.jpg&sizes=40x0,80x0"
	head := ask(b.public, http.MethodHead, target)
	if b.engine.runs.Load() != 0 || body(t, head) != "" {
		t.Error("HEAD made pictures")
	}
	_, res := getSet(t, b, target)
	etag := res.Header.Get("ETag")
	if !strings.HasPrefix(etag, `W/"`) || head.Header.Get("ETag") != etag || res.Header.Get("Vary") != "Accept" || head.Header.Get("Vary") != "Accept" {
		t.Errorf("GET says %v, HEAD %v", res.Header, head.Header)
	}
	runs := b.engine.runs.Load()
	known := b.get(target, "If-None-Match: "+etag)
	if known.StatusCode != 304 || known.Header.Get("ETag") != etag || b.engine.runs.Load() != runs {
		t.Errorf("got %s %s after %d runs", known.Status, known.Header.Get("ETag"), b.engine.runs.Load()-runs)
	}
	if other := b.get(target+"&quality=3", "If-None-Match: "+etag); other.StatusCode != 200 {
		t.Errorf("another set is %s", other.Status)
	}
}

func TestSrcsetTakesPresetsApart(t *testing.T) {
	b := newBench(t, func(s *settings) {
		s.http.Presets = map[string]string{"hero": "sizes=40x0,80x0&format=png&encoder=json&placeholders=lqip"}
	})
	got, _ := getSet(t, b, "/srcset?image_url=a.jpg&preset=hero")
	if got.Src != "/resize?format=png&image_url=a.jpg&sizes=40x0" || len(got.Placeholder) != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestSrcsetRefuses(t *testing.T) {
	only := newBench(t, func(s *settings) {
		s.http.Presets, s.http.PresetsOnly = map[string]string{"hero": "sizes=40x0"}, true
	})
	long := newBench(t, func(s *settings) { s.http.MaxURL = 256 })
	for name, c := range map[string]struct {
		b      *bench
		target string
		status int
		code   string
		param  string
	}{
		"a set without sizes":                {newBench(t, nil), "/srcset?image_url=a.jpg", 400, "invalid-parameter", "sizes"},
		"a set without a source":             {newBench(t, nil), "/srcset?sizes=40x0", 400, "invalid-parameter", "image_url"},
		"a way to travel":                    {newBench(t, nil), "/srcset?image_url=a.jpg&sizes=40x0&encoder=stream", 400, "invalid-parameter", "encoder"},
		"what /resize refuses":               {newBench(t, nil), "/srcset?image_url=a.jpg&sizes=40x0&quality=101", 400, "invalid-parameter", "quality"},
		"a source that is not there":         {newBench(t, nil), "/srcset?image_url=missing&sizes=40x0", 404, "source-not-found", ""},
		"URLs where only presets are taken":  {only, "/srcset?image_url=a.jpg&preset=hero", 400, "invalid-parameter", "sizes"},
		"URLs that would be too long to ask": {long, "/srcset?image_url=" + strings.Repeat("é", 50) + "&sizes=40x0", 414, "url-too-long", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if p := wantProblem(t, c.b.get(c.target), c.status, c.code); p.Parameter != c.param {
				t.Errorf("the parameter at fault is %q, want %q", p.Parameter, c.param)
			}
		})
	}
}
