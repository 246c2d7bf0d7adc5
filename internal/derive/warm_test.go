package derive_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/derive"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/transform"
)

func TestBulkDeriveFillsTheCacheOfItsOwnProcess(t *testing.T) {
	b := newBench(t, gallery(3))
	job := enqueue(t, derive.TypeBulk, "", `{"prefix":"in/","sizes":"30x0,20x0","into":"cache"}`)
	got := mustDo[summary](t, b, job, newHost())
	if got.Into != "cache" || got.Succeeded != 3 || got.Outputs != 3*2*3 {
		t.Errorf("%+v", got)
	}
	if keys := b.keys(t, ""); len(keys) != 1 || keys[0] != got.Report.Key {
		t.Errorf("the blob store has %v; it should have the report alone", keys)
	}
	before := b.engine.runs.Load()
	for _, accept := range []string{"image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8", "image/webp,*/*", ""} {
		request := media.NewRequest()
		request.Sizes = []media.Size{{Width: 20}}
		res, err := b.images.Do(t.Context(), transform.Job{Ref: "in/img2.jpg", Request: request, Accept: media.ParseAccept(accept)})
		if err != nil {
			t.Fatal(err)
		}
		if !res.CacheHit {
			t.Errorf("a client that accepts %q waits for its picture", accept)
		}
		res.Close()
	}
	if n := b.engine.runs.Load() - before; n != 0 {
		t.Errorf("%d pictures were decoded again", n)
	}
}

func TestWithoutAnImageServerNoCacheIsFilled(t *testing.T) {
	b := newBench(t, gallery(1))
	b.cfg.Warmer = nil
	_, err := b.do(t.Context(), enqueue(t, derive.TypeBulk, "", `{"prefix":"in/","into":"cache"}`), newHost())
	if f := wantFailure(t, err, media.CodeInvalidParameter); !f.Permanent {
		t.Errorf("failure %+v", f)
	}
}

// imageServer notes what it is asked for and refuses what a test says.
type imageServer struct {
	mu     sync.Mutex
	asked  []string
	status map[string]int // by image_url
}

func (s *imageServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.URL.RequestURI())
	if status := s.status[r.URL.Query().Get("image_url")]; status != 0 {
		w.WriteHeader(status)
		return
	}
	fmt.Fprint(w, "picture")
}

func TestARemoteWarmerAsksAsClientsDo(t *testing.T) {
	s := &imageServer{status: map[string]int{"broken.jpg": 422, "gone.jpg": 404, "busy.jpg": 503, "unsigned.jpg": 403}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	router, err := source.New(t.Context(), source.Config{Allow: []string{server.URL}, AllowPrivate: true, Retries: -1}, discard())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { router.Close() })
	sign := func(address string) string { return address + "&signature=good" }
	warm := derive.NewRemoteWarmer(server.URL+"/", router, sign)
	ask := func(ref, query string) ([]derive.Output, error) {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		request, err := media.Parse(values, media.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		return warm.Warm(context.WithoutCancel(t.Context()), derive.Picture{Ref: ref, Outputs: []media.Request{request}})
	}
	t.Run("in the words of the HTTP API, signed", func(t *testing.T) {
		got, err := ask("photos/a & b.jpg", "sizes=300x0&format=webp&quality=60&gravity=0.1,0.2&fit=cover")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]derive.Output{{Size: "300x0", Format: "webp", Bytes: 7, ContentType: "image/webp"}}, got); diff != "" {
			t.Error(diff)
		}
		path, query, _ := strings.Cut(s.asked[0], "?")
		values, err := url.ParseQuery(query)
		if err != nil || path != "/resize" {
			t.Fatalf("asked for %s, %v", s.asked[0], err)
		}
		if values.Get("image_url") != "photos/a & b.jpg" || values.Get("signature") != "good" || !strings.HasSuffix(query, "signature=good") {
			t.Errorf("asked for %s", s.asked[0])
		}
		values.Del("image_url")
		values.Del("signature")
		read, err := media.Parse(values, media.DefaultLimits())
		if err != nil || read.Canonical() != "sizes=300x0&fit=cover&gravity=0.1%2C0.2&format=webp&quality=60" {
			t.Errorf("the server reads %s, %v", read.Canonical(), err)
		}
	})
	for ref, c := range map[string]struct {
		code  media.Code
		again bool
	}{
		"broken.jpg": {media.CodeDecodeFailed, false}, "unsigned.jpg": {media.CodeDecodeFailed, false}, "gone.jpg": {media.CodeSourceNotFound, false}, "busy.jpg": {media.CodeSourceFailed, true},
	} {
		t.Run("what the server says of "+ref, func(t *testing.T) {
			_, err := ask(ref, "format=webp")
			if codeOf(err) != c.code || source.Unavailable(err) != c.again || !strings.Contains(err.Error(), strconv.Itoa(s.status[ref])) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("a negotiated format is many pictures", func(t *testing.T) {
		before := len(s.asked)
		if _, err := ask("a.jpg", "sizes=300x0"); codeOf(err) != media.CodeInvalidParameter || len(s.asked) != before {
			t.Errorf("got %v, and asked %v", err, slices.Clone(s.asked[before:]))
		}
	})
}
