package source

import (
	"context"
	"io"
	"strconv"
	"time"
)

// Opener opens originals by reference. Router is the one in this package.
type Opener interface {
	// Open gives the original that ref names once its headers are known.
	// The caller closes the Body, which ends with io.EOF only when all
	// bytes came. Errors, those of Body.Read included, are *media.Error.
	Open(ctx context.Context, ref string) (*Object, error)
}

// Conditional is an Opener that can ask whether what is held is still good.
type Conditional interface {
	Opener
	// OpenIf is Open for a caller that holds what an earlier Open of ref,
	// with have for its Meta, gave. The Object is Unchanged when that is
	// still what ref stands for; else it is as Open gives it. A have
	// without validators makes it an Open.
	OpenIf(ctx context.Context, ref string, have Meta) (*Object, error)
}

// Object is an opened original.
type Object struct {
	Meta
	// Unchanged, which only OpenIf answers, means that the bytes of the
	// Meta that was given to it are still good. Body is then nil, and Meta
	// is the given one brought up to date.
	Unchanged bool
	// Body must be closed, read or not, by the goroutine that reads it; to
	// end a Read from elsewhere, cancel the context given to Open.
	Body io.ReadCloser
}

// The kinds of sources, as they stand in logs and metrics.
const (
	KindHTTP = "http"
	KindFile = "file"
	KindS3   = "s3"
)

// Meta is what is known of an original before its bytes.
type Meta struct {
	Kind string // KindHTTP, KindFile or KindS3
	// Host is the host asked last, after redirects; the bucket for S3;
	// empty for files.
	Host string
	// Name is the last segment of the path or key, decoded.
	Name string
	// Size is -1 when it is not known or the body is inflated on the way.
	Size int64
	// ETag is as the source gave it, quotes included; made from size, time
	// and inode for files.
	ETag         string
	LastModified time.Time
	// Redirected stands for where redirects led, query excepted; empty
	// without any. ETag and LastModified are those of that place.
	Redirected string
	// MaxAge is how long the source lets its bytes be reused; -1 when it
	// says nothing or Config.HonourCacheControl is off.
	MaxAge time.Duration
	// Life is what the source says about reuse, whether or not the server
	// is configured to pass it on.
	Life Life
	// ContentType is what the source declares; it is not to be trusted.
	ContentType string
	// OpenEnded is true when the origin ends the body by closing the
	// connection, with neither a length nor a checksum: a cut cannot be
	// told from the end, so such bytes must not be kept.
	OpenEnded bool
}

// Life is how long an original may be reused by a shared cache (RFC 9111, RFC
// 5861). Its zero value is to ask each time, which is how files are: looking
// at them costs nothing.
type Life struct {
	// Fresh is how much longer the original may be reused without asking,
	// as of its arrival: what it aged on the way is taken off. -1 when the
	// source says nothing.
	Fresh time.Duration
	// NoStore forbids keeping the original at all, beyond the requests that
	// wait for it.
	NoStore bool
	// WhileRevalidate is how long after Fresh the original may be used
	// while it is asked for anew; IfError is how long it may be used when
	// that fails in the way Unavailable tells. -1 when not said.
	WhileRevalidate, IfError time.Duration
}

// Validator identifies this version of the original among all versions of
// it, or is empty when the source gives nothing to tell them apart.
func (m Meta) Validator() string {
	switch {
	case m.ETag != "":
		return m.ETag + m.Redirected
	case !m.LastModified.IsZero():
		return "modified-" + strconv.FormatInt(m.LastModified.UnixNano(), 36) + "-" + strconv.FormatInt(m.Size, 36) + m.Redirected
	}
	return ""
}
