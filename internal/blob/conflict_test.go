package blob_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/blob"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/testservices"
)

// busy is a bucket in which another writer has the key for a while, and then
// has written it.
type busy struct {
	until time.Time
	asked atomic.Int32
	heard chan struct{}
}

func (b *busy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	if b.asked.Add(1) == 1 {
		close(b.heard)
	}
	status, code := http.StatusPreconditionFailed, "PreconditionFailed"
	if time.Now().Before(b.until) {
		status, code = http.StatusConflict, "ConditionalRequestConflict"
	}
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", code)
}

func busyBucket(t *testing.T, until time.Time) (*busy, blob.Store) {
	t.Helper()
	b := &busy{until: until, heard: make(chan struct{})}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	return b, openAt(t, blob.Config{
		Location: "s3://" + bucket,
		S3:       source.S3{Endpoint: server.URL, Region: "us-east-1", PathStyle: true, AccessKey: testservices.S3AccessKey, SecretKey: testservices.S3SecretKey},
	})
}

func TestABucketWaitsForTheOtherWriterOfAKey(t *testing.T) {
	_, store := busyBucket(t, time.Now().Add(500*time.Millisecond))
	if err := put(t, store, "jobs/1/a", "x", blob.PutOptions{IfNoneMatch: true}); !errors.Is(err, blob.ErrExists) {
		t.Errorf("got %v", err)
	}
	t.Run("but no longer than its own job has", func(t *testing.T) {
		b, store := busyBucket(t, time.Now().Add(time.Hour))
		lost := errors.New("the lease is lost")
		ctx, lose := context.WithCancelCause(t.Context())
		go func() {
			<-b.heard
			lose(lost)
		}()
		_, err := store.Put(ctx, "jobs/1/a", strings.NewReader("x"), 1, blob.PutOptions{IfNoneMatch: true})
		if err == nil || b.asked.Load() > 2 {
			t.Errorf("asked %d times, %v", b.asked.Load(), err)
		}
	})
}
