package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/httpapi"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/transform"
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

func TestSrcsetMakesItsPlaceholderOfWhatTheFirstPictureShows(t *testing.T) {
	for name, c := range map[string]struct{ query, want string }{
		"a resize looks the same when small":            {"sizes=200x0", "jpeg 200x150, jpeg 32x24"},
		"so does a cut":                                 {"sizes=200x100&fit=cover&dpr=2", "jpeg 32x16, jpeg 400x200"},
		"the original is not encoded whole for it":      {"sizes=0x0&fit=cover", "jpeg 32x24, jpeg 400x300"},
		"what the format does to transparency is there": {"sizes=200x0&format=webp&ssim=0.95", "webp 200x150, webp 32x24"},
		"a blur is measured in pixels of the result":    {"sizes=200x0&blur=5", "jpeg 200x150, jpeg 200x150"},
		"so is a sharpening":                            {"sizes=200x0&sharpen=1", "jpeg 200x150, jpeg 200x150"},
		"and the bars round what is not enlarged":       {"sizes=900x900&fit=contain", "jpeg 900x900, jpeg 900x900"},
		"and a watermark of a size of its own":          {"sizes=200x0&watermark=b.png", "jpeg 200x150, jpeg 200x150"},
		"one that is a share of the result shrinks":     {"sizes=200x0&watermark=b.png&watermark_scale=0.5", "jpeg 200x150, jpeg 32x24"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			var mu sync.Mutex
			var made []string
			b.engine.run = func(ctx context.Context, plan *media.Plan, begin transform.Begin) error {
				mu.Lock()
				for _, out := range plan.Outputs {
					if w, h := out.Layout.Final(); out.Encode.Format != media.Raw {
						made = append(made, fmt.Sprintf("%s %dx%d", out.Encode.Format, w, h))
					}
				}
				mu.Unlock()
				return writePictures(ctx, plan, begin)
			}
			got, _ := getSet(t, b, "/srcset?image_url=a.jpg&"+c.query)
			mu.Lock()
			defer mu.Unlock()
			slices.Sort(made) // flights come in any order
			if strings.Join(made, ", ") != c.want || len(got.Placeholder) != 4 {
				t.Errorf("made %q, want %q, for %v", made, c.want, got.Placeholder)
			}
		})
	}
}

func TestSrcsetTagStandsForAllThatIsTold(t *testing.T) {
	tag := func(preset string, keys ...[]byte) string {
		b := newBench(t, func(s *settings) {
			s.http.Presets, s.http.Keys = map[string]string{"hero": preset}, keys
		})
		target := "/srcset?image_url=a.jpg&preset=hero"
		if len(keys) > 0 {
			target = httpapi.SignURL(testKey, target)
		}
		_, res := getSet(t, b, target)
		return res.Header.Get("ETag")
	}
	first := tag("sizes=40x0,80x0")
	if first != tag("sizes=40x0,80x0") {
		t.Error("the same set has two tags")
	}
	other := []byte("another key of so many bytes")
	for name, pair := range map[string][2]string{
		"another second size":   {first, tag("sizes=40x0,90x0")},
		"other placeholders":    {first, tag("sizes=40x0,80x0&encoder=json&placeholders=color")},
		"signed by another key": {tag("sizes=40x0", testKey, other), tag("sizes=40x0", other, testKey)},
	} {
		if pair[0] == pair[1] {
			t.Errorf("%s: still %s", name, pair[0])
		}
	}
}
