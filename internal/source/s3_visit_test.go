package source_test

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/testservices"
)

func TestConditionalOpensOfObjects(t *testing.T) {
	endpoint := testservices.S3(t)
	fill(t, endpoint, "photos", map[string]string{"a.png": "first"})
	router := newRouter(t, source.Config{Root: "s3://photos", S3: storeConfig(endpoint)})
	have, _, err := read(t, router, "a.png")
	if err != nil || have.Life != (source.Life{Fresh: time.Minute, WhileRevalidate: -1, IfError: -1}) {
		t.Fatalf("life = %+v, %v", have.Life, err)
	}
	meta, content, err := readIf(t, router, "a.png", have)
	if content != "unchanged" || err != nil || meta.Validator() != have.Validator() || meta.Size != 5 || meta.Life != have.Life {
		t.Errorf("content = %q, %v, meta %+v, want %+v", content, err, meta, have)
	}
	have.ETag = `"another"`
	if _, content, err = readIf(t, router, "a.png", have); content != "first" || err != nil {
		t.Errorf("another version: content = %q, %v", content, err)
	}
	if stats := router.Origins(); len(stats) != 1 || stats[0].Host != "s3://photos" || stats[0].InFlight != 0 || stats[0].Failures != 0 {
		t.Errorf("stats are %+v", stats)
	}
}

func TestStoresThatAnswer304(t *testing.T) {
	cases := []struct {
		name, tag string
		have      source.Meta
		always    bool // also to who did not ask
		want      string
		code      media.Code
	}{
		{"for the version that is held", `"1"`, source.Meta{Kind: source.KindS3, ETag: `"1"`}, false, "unchanged", ""},
		{"for another one are asked anew", `"2"`, source.Meta{Kind: source.KindS3, ETag: `"1"`}, false, "picture", ""},
		{"without being asked are at fault", `"1"`, source.Meta{}, true, "", media.CodeSourceFailed},
		{"again without being asked are, too", `"2"`, source.Meta{Kind: source.KindS3, ETag: `"1"`}, true, "", media.CodeSourceFailed},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cfg := fakeStore(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("ETag", c.tag)
				if c.always || r.Header.Get("If-None-Match") != "" {
					w.WriteHeader(http.StatusNotModified)
					return
				}
				io.WriteString(w, "picture")
			})
			_, content, err := readIf(t, newRouter(t, cfg), "a.png", c.have)
			if content != c.want || (err == nil) != (c.code == "") {
				t.Errorf("content = %q, %v", content, err)
			}
			if c.code != "" {
				wantCode(t, err, c.code)
				if source.Unavailable(err) {
					t.Errorf("%v counts as unavailable", err)
				}
			}
		})
	}
}

func TestBreakersAreOfEachBucket(t *testing.T) {
	asked := 0
	cfg := fakeStore(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.URL.Path == "/photos/a.png" {
			w.Header().Set("Retry-After", "20")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	cfg.Allow = []string{"s3://other"}
	router := newRouter(t, cfg)
	for range 5 {
		_, _, err := read(t, router, "a.png")
		wantCode(t, err, media.CodeSourceFailed)
		if !source.Unavailable(err) {
			t.Errorf("%v does not count as unavailable", err)
		}
	}
	_, _, err := read(t, router, "b.png")
	wantCode(t, err, media.CodeSourceUnavailable)
	var fault *media.Error
	if errors.As(err, &fault); fault.RetryAfter <= 5*time.Second || fault.RetryAfter > 20*time.Second || asked != 5 {
		t.Errorf("%d requests, then %v after %s", asked, err, fault.RetryAfter)
	}
	if _, _, err := read(t, router, "s3://other/a.png"); err != nil {
		t.Error(err)
	}
}
