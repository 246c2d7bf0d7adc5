package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"strings"
	"sync"

	"github.com/spillway-media/spillway/internal/media"
)

// Router sends each reference to what can open it. It is safe for concurrent
// use.
type Router struct {
	web     *web
	folder  *folder      // nil without a folder as root
	buckets *bucketStore // nil when neither root nor allow-list name a bucket
	root    *s3Rule      // nil without a bucket as root
	origins *origins

	mu    sync.Mutex
	stats Stats
}

// Stats counts since the start.
type Stats struct {
	// Opened counts references that were opened; Failed those that were
	// not or whose body broke, by code.
	// Unchanged counts those of the opened that turned out to be held
	// already.
	Opened, Unchanged int64
	Failed            map[media.Code]int64
	// Bytes counts what was read of bodies, after gzip.
	Bytes int64
	// Open counts bodies that are not closed yet.
	Open int
}

// New checks cfg and opens the root; it asks no server. ctx is for loading
// the object store's settings only. Close ends what it holds.
func New(ctx context.Context, cfg Config, log *slog.Logger) (*Router, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("check source settings: %w", err)
	}
	cfg = cfg.withDefaults()
	allow, err := parseAllow(cfg.Allow)
	if err != nil {
		return nil, fmt.Errorf("check source settings: %w", err)
	}
	root, err := rootBucket(cfg.Root)
	if err != nil {
		return nil, fmt.Errorf("check source settings: %w", err)
	}
	if root != nil {
		// What a key may name, a full s3:// reference may name as well.
		allow.buckets = append(allow.buckets, *root)
	}
	at := newOrigins(cfg)
	r := &Router{root: root, web: newWeb(cfg, allow, at, log), origins: at, stats: Stats{Failed: map[media.Code]int64{}}}
	if cfg.usesS3() {
		if r.buckets, err = newBucketStore(ctx, cfg, allow, at); err != nil {
			return nil, err
		}
	}
	if cfg.Root != "" && root == nil {
		r.folder, err = openFolder(cfg.Root, cfg.MaxBytes)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// rootBucket is nil when the root is a folder or there is none.
func rootBucket(root string) (*s3Rule, error) {
	if !strings.HasPrefix(root, s3Scheme) {
		return nil, nil
	}
	rule, err := parseS3Rule(root)
	if err != nil {
		return nil, fmt.Errorf("source-root: %w", err)
	}
	return &rule, nil
}

// Open implements Opener. A reference is http://…, https://…, s3://bucket/key
// or a key below the root.
func (r *Router) Open(ctx context.Context, ref string) (*Object, error) {
	return r.OpenIf(ctx, ref, Meta{})
}

// OpenIf implements Conditional.
func (r *Router) OpenIf(ctx context.Context, ref string, have Meta) (*Object, error) {
	object, err := r.open(ctx, ref, have)
	r.count(object, err)
	if err != nil {
		return nil, err
	}
	if object.Unchanged {
		return object, nil
	}
	object.Body = &countedBody{ReadCloser: object.Body, router: r}
	return object, nil
}

func (r *Router) open(ctx context.Context, ref string, have Meta) (*Object, error) {
	scheme, _, _ := strings.Cut(ref, "://")
	switch scheme = strings.ToLower(scheme); {
	case ref == "":
		return nil, badRef("The source is empty; a URL or a key is expected.")
	case !hasScheme.MatchString(ref):
		return r.openKey(ctx, ref, have)
	case scheme == "http", scheme == "https":
		return r.web.open(ctx, ref, have)
	case scheme == "s3" && r.buckets == nil:
		return nil, media.Errorf(media.CodeSourceForbidden, "No bucket is among the allowed sources.")
	case scheme == "s3":
		return r.buckets.openRef(ctx, ref, have)
	}
	return nil, badRef("The source has the scheme %q; http, https, s3 or a key without one are allowed.", shorten(scheme))
}

func (r *Router) openKey(ctx context.Context, key string, have Meta) (*Object, error) {
	switch {
	case r.folder != nil:
		return r.folder.open(ctx, key, have)
	case r.root == nil:
		return nil, media.Errorf(media.CodeSourceForbidden, "This server has no source root, so keys name nothing; give a URL of an allowed host.")
	}
	key, err := cleanKey(key)
	if err != nil {
		return nil, err
	}
	if r.root.prefix != "" {
		key = r.root.prefix + "/" + key
	}
	return r.buckets.open(ctx, r.root.bucket, key, have)
}

// Close gives the root and idle connections back. Bodies that are still open
// stay readable.
func (r *Router) Close() error {
	r.web.transport.CloseIdleConnections()
	if r.buckets != nil {
		r.buckets.transport.CloseIdleConnections()
	}
	if r.folder == nil {
		return nil
	}
	if err := r.folder.root.Close(); err != nil {
		return fmt.Errorf("close source root: %w", err)
	}
	return nil
}

// Stats reads the counters.
func (r *Router) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.stats
	out.Failed = maps.Clone(out.Failed)
	return out
}

// Origins lists the origins that are in use or were lately, by name.
func (r *Router) Origins() []OriginStats { return r.origins.stats() }

// count is for the outcome of one Open.
func (r *Router) count(object *Object, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.stats.Failed[codeOf(err)]++
		return
	}
	r.stats.Opened++
	if object.Unchanged {
		r.stats.Unchanged++
	} else {
		r.stats.Open++
	}
}

func codeOf(err error) media.Code {
	var fault *media.Error
	if errors.As(err, &fault) {
		return fault.Code
	}
	return media.CodeSourceFailed
}

// countedBody reports to the router when it is closed, once, so that reading
// costs no lock.
type countedBody struct {
	io.ReadCloser
	router *Router
	read   int64
	fault  error
	closed sync.Once
}

// Read implements io.Reader.
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if err != nil && err != io.EOF && b.fault == nil {
		b.fault = err
	}
	return n, err
}

// Close implements io.Closer.
func (b *countedBody) Close() error {
	b.closed.Do(func() {
		b.router.mu.Lock()
		defer b.router.mu.Unlock()
		b.router.stats.Open--
		b.router.stats.Bytes += b.read
		if b.fault != nil {
			b.router.stats.Failed[codeOf(b.fault)]++
		}
	})
	return b.ReadCloser.Close()
}
