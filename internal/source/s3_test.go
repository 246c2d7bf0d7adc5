package source_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/testservices"
)

func storeConfig(endpoint string) source.S3 {
	return source.S3{Endpoint: endpoint, Region: "us-east-1", PathStyle: true, AccessKey: testservices.S3AccessKey, SecretKey: testservices.S3SecretKey}
}

// fill puts objects into a bucket, by the SDK and not by what is tested.
func fill(t *testing.T, endpoint, bucket string, objects map[string]string) {
	t.Helper()
	client := s3.New(s3.Options{
		BaseEndpoint: &endpoint, Region: "us-east-1", UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(testservices.S3AccessKey, testservices.S3SecretKey, ""),
	})
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	for key, content := range objects {
		input := &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader(content), ContentType: aws.String("image/png"), CacheControl: aws.String("max-age=60")}
		if strings.HasSuffix(key, ".svgz") {
			input.ContentEncoding = aws.String("gzip")
		}
		if _, err := client.PutObject(t.Context(), input); err != nil {
			t.Fatalf("put %s: %v", key, err)
		}
	}
}

func TestS3AgainstARealServer(t *testing.T) {
	endpoint := testservices.S3(t)
	large := strings.Repeat("0123456789", 100_000)
	objects := map[string]string{
		"a.png": "first", "dir/b c.png": "second", "dir/grün+é%20.png": "third", "large.png": large,
		"zipped.svgz": zipped("<svg/>"), "bomb.svgz": zipped(strings.Repeat("\x00", 5<<20)),
	}
	fill(t, endpoint, "photos", objects)
	fill(t, endpoint, "private", map[string]string{"secret.png": "secret"})
	cfg := source.Config{Root: "s3://photos", Allow: []string{"s3://private/open/"}, HonourCacheControl: true, MaxBytes: 2 << 20, S3: storeConfig(endpoint)}
	router := newRouter(t, cfg)

	t.Run("objects are opened by key and by full reference", func(t *testing.T) {
		for _, key := range []string{"a.png", "dir/b c.png", "dir/grün+é%20.png", "large.png"} {
			for _, ref := range []string{key, "/" + key, "s3://photos/" + key} {
				meta, content, err := read(t, router, ref)
				if err != nil || content != objects[key] {
					t.Errorf("%s: %d bytes, %v", ref, len(content), err)
					continue
				}
				if meta.Kind != source.KindS3 || meta.Host != "photos" || meta.Name != filepath.Base(key) || meta.Size != int64(len(content)) ||
					meta.ETag == "" || meta.LastModified.IsZero() || meta.MaxAge != time.Minute || meta.ContentType != "image/png" {
					t.Errorf("%s: meta = %+v", ref, meta)
				}
			}
		}
	})
	t.Run("gzip is inflated, within the limit", func(t *testing.T) {
		meta, content, err := read(t, router, "zipped.svgz")
		if err != nil || content != "<svg/>" || meta.Size != -1 {
			t.Errorf("content = %q, size %d, %v", content, meta.Size, err)
		}
		_, _, err = read(t, router, "bomb.svgz")
		wantCode(t, err, media.CodeSourceTooLarge)
	})
	for name, c := range map[string]struct {
		ref  string
		want media.Code
	}{
		"a missing key":                        {"none.png", media.CodeSourceNotFound},
		"a folder":                             {"dir", media.CodeSourceNotFound},
		"a key with dot segments":              {"dir/../../private/secret.png", media.CodeSourceForbidden},
		"a bucket that is not allowed":         {"s3://other/a.png", media.CodeSourceForbidden},
		"a prefix that is not allowed":         {"s3://private/secret.png", media.CodeSourceForbidden},
		"a way around the prefix":              {"s3://private/open/../secret.png", media.CodeSourceForbidden},
		"an allowed prefix with a missing key": {"s3://private/open/none.png", media.CodeSourceNotFound},
		"no key":                               {"s3://photos", media.CodeInvalidParameter},
		"something that is no bucket":          {"s3://PHOTOS/a.png", media.CodeInvalidParameter},
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			_, _, err := read(t, router, c.ref)
			wantCode(t, err, c.want)
		})
	}
	t.Run("an object over the limit is refused", func(t *testing.T) {
		small := cfg
		small.MaxBytes = 1000
		_, _, err := read(t, newRouter(t, small), "large.png")
		wantCode(t, err, media.CodeSourceTooLarge)
	})
	t.Run("a root with a prefix looks below it", func(t *testing.T) {
		below := cfg
		below.Root = "s3://photos/dir/"
		router := newRouter(t, below)
		if _, content, err := read(t, router, "b c.png"); err != nil || content != "second" {
			t.Errorf("content = %q, %v", content, err)
		}
		_, _, err := read(t, router, "s3://photos/a.png")
		wantCode(t, err, media.CodeSourceForbidden)
	})
	t.Run("a wrong secret is refused and not told", func(t *testing.T) {
		for _, wrong := range []source.S3{
			{Endpoint: endpoint, PathStyle: true, AccessKey: testservices.S3AccessKey, SecretKey: "wrong-secret"},
			{Endpoint: endpoint, PathStyle: true, AccessKey: "wrong-access", SecretKey: testservices.S3SecretKey},
		} {
			bad := cfg
			bad.S3 = wrong
			_, _, err := read(t, newRouter(t, bad), "a.png")
			wantCode(t, err, media.CodeSourceFailed)
			for _, secret := range []string{testservices.S3SecretKey, "wrong-secret", "wrong-access", testservices.S3AccessKey} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error holds a credential: %v", err)
				}
			}
		}
	})
	t.Run("a missing bucket is not found", func(t *testing.T) {
		missing := cfg
		missing.Root = "s3://missing"
		_, _, err := read(t, newRouter(t, missing), "a.png")
		wantCode(t, err, media.CodeSourceNotFound)
	})
}

// fakeStore answers as an object store in trouble.
func fakeStore(t *testing.T, handler http.HandlerFunc) source.Config {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return source.Config{Root: "s3://photos", Retries: -1, S3: storeConfig(server.URL)}
}

func TestBugReport14CutOffObjects(t *testing.T) {
	cfg := fakeStore(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "half an object")
	})
	_, _, err := read(t, newRouter(t, cfg), "a.png")
	wantCode(t, err, media.CodeSourceFailed)
}

func TestStoresInTrouble(t *testing.T) {
	wait := func(r *http.Request) { <-r.Context().Done() }
	cases := []struct {
		name    string
		handler http.HandlerFunc
		want    media.Code
	}{
		{"a 503 is a failed source", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, media.CodeSourceFailed},
		{"a 404 without a body is not found", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, media.CodeSourceNotFound},
		{"a redirect is not followed", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/elsewhere" {
				t.Error("it was followed")
			}
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, media.CodeSourceFailed},
		{"headers that do not come are a timeout", func(_ http.ResponseWriter, r *http.Request) { wait(r) }, media.CodeSourceTimeout},
		{"a body that stops is a timeout", func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "some")
			w.(http.Flusher).Flush()
			wait(r)
		}, media.CodeSourceTimeout},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cfg := fakeStore(t, c.handler)
			if c.want == media.CodeSourceTimeout {
				cfg.HeaderTimeout, cfg.IdleTimeout = 100*time.Millisecond, 100*time.Millisecond
			}
			_, _, err := read(t, newRouter(t, cfg), "topsecret.png")
			wantCode(t, err, c.want)
			var fault *media.Error
			if errors.As(err, &fault) && fault.Cause != nil && strings.Contains(fault.Cause.Error(), "topsecret") {
				t.Errorf("the cause for the log holds the key: %v", fault.Cause)
			}
		})
	}
	t.Run("a client that leaves ends the request", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan struct{})
		cfg := fakeStore(t, func(_ http.ResponseWriter, r *http.Request) {
			cancel()
			wait(r)
			close(gone)
		})
		_, err := newRouter(t, cfg).Open(ctx, "a.png")
		wantCode(t, err, media.CodeCancelled)
		<-gone
	})
	t.Run("a store that is tried again", func(t *testing.T) {
		asked := 0
		cfg := fakeStore(t, func(w http.ResponseWriter, _ *http.Request) {
			if asked++; asked < 3 {
				w.WriteHeader(http.StatusInternalServerError)
			}
		})
		cfg.Retries = 2
		if _, _, err := read(t, newRouter(t, cfg), "a.png"); err != nil || asked != 3 {
			t.Errorf("%d requests, %v", asked, err)
		}
	})
}

func TestStoresWithoutAnEndpointAreGuarded(t *testing.T) {
	port := canary(t)
	// The environment is not the operator's setting of this server.
	t.Setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:"+port)
	cfg := source.Config{Root: "s3://photos", Retries: -1, S3: storeConfig("")}
	_, _, err := read(t, newRouter(t, cfg), "a.png")
	wantCode(t, err, media.CodeSourceForbidden)
}
