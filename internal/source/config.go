package source

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Config says what may be opened and what it may cost. A zero takes the
// default in brackets.
type Config struct {
	// Root is where keys are looked up: a folder, or s3://bucket/prefix.
	// Empty: there are no keys.
	Root string
	// Allow lists what else may be opened (nothing):
	//
	//	img.example.com              a host, on the port of http or https
	//	img.example.com:8443         a host on this port only
	//	*.example.com                every host below example.com, not itself
	//	*                            every host
	//	https://example.com/photos/  what lies below this path
	//	s3://bucket/prefix           what lies below this prefix
	Allow []string
	// AllowPrivate lets hosts of private networks be reached (false).
	AllowPrivate bool
	// MaxBytes bounds one original, also after gzip (64 MiB).
	MaxBytes int64
	// ConnectTimeout bounds resolving, connecting and, anew, the TLS
	// handshake (5 s).
	ConnectTimeout time.Duration
	// HeaderTimeout is the wait for headers once the request is sent (10 s).
	HeaderTimeout time.Duration
	// IdleTimeout is the longest wait between two pieces of a body (10 s).
	IdleTimeout time.Duration
	// TotalTimeout bounds it all, retries and body included (60 s).
	TotalTimeout time.Duration
	// Retries is how often a failed connection or a 5xx is tried again
	// (2); -1 is never.
	Retries int
	// MinRate is how many bytes a second, over ten seconds, a body has to
	// bring once it began (1 KiB); -1 is any.
	MinRate int64
	// Fetches is how many originals come from origins at once (256), and
	// FetchesPerOrigin how many from one of them (64), which gets no more
	// than half of all. Files are not counted.
	Fetches, FetchesPerOrigin int
	// NoBreaker asks origins however often they fail (false).
	NoBreaker bool
	// UserAgent is sent to http origins (Spillway).
	UserAgent string
	// HonourCacheControl fills Meta.MaxAge from the origin's headers (false).
	HonourCacheControl bool
	S3                 S3
}

// S3 reaches an object store. It is used when Root or Allow name s3://.
type S3 struct {
	// Endpoint is the address of a store other than AWS, such as
	// https://minio.example.com. The operator wrote it, so it is trusted:
	// it may lie in a private network. Without it the private-network
	// guard holds for AWS's hosts too.
	Endpoint string
	// Region is the default chain's, then us-east-1.
	Region string
	// PathStyle puts the bucket into the path instead of the host name.
	PathStyle bool
	// AccessKey and SecretKey; both empty takes the SDK's default chain
	// (environment, shared files, instance role).
	AccessKey, SecretKey string
}

func (c Config) withDefaults() Config {
	setDefault(&c.MaxBytes, 64<<20)
	setDefault(&c.ConnectTimeout, 5*time.Second)
	setDefault(&c.HeaderTimeout, 10*time.Second)
	setDefault(&c.IdleTimeout, 10*time.Second)
	setDefault(&c.TotalTimeout, 60*time.Second)
	setDefault(&c.Retries, 2)
	setDefault(&c.MinRate, 1<<10)
	setDefault(&c.Fetches, 256)
	setDefault(&c.FetchesPerOrigin, 64)
	setDefault(&c.UserAgent, "Spillway")
	c.Retries = max(c.Retries, 0)
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Validate joins every fault, each naming its key and what is allowed.
func (c Config) Validate() error {
	c = c.withDefaults()
	_, allowErr := parseAllow(c.Allow)
	_, rootErr := rootBucket(c.Root)
	errs := []error{allowErr, rootErr, c.S3.Validate()}
	if c.MaxBytes < 0 {
		errs = append(errs, fmt.Errorf("max-source-bytes: %d is not positive", c.MaxBytes))
	}
	if c.Retries > 10 {
		errs = append(errs, fmt.Errorf("source-retries: %d is not within -1 to 10", c.Retries))
	}
	if c.MinRate < -1 || c.MinRate > 1<<30 {
		errs = append(errs, fmt.Errorf("source-min-rate: %d is not within 0 to %d bytes a second", c.MinRate, 1<<30))
	}
	for _, places := range []struct {
		key string
		n   int
	}{{"source-fetches", c.Fetches}, {"source-fetches-per-origin", c.FetchesPerOrigin}} {
		// With one place, a picture and its watermark could not both be open.
		if places.n < 2 || places.n > 4096 {
			errs = append(errs, fmt.Errorf("%s: %d is not within 2 to 4096", places.key, places.n))
		}
	}
	if strings.ContainsFunc(c.UserAgent, isControl) {
		errs = append(errs, errors.New("source-user-agent: control characters are not allowed"))
	}
	for _, t := range []struct {
		key   string
		value time.Duration
	}{
		{"source-connect-timeout", c.ConnectTimeout},
		{"source-header-timeout", c.HeaderTimeout},
		{"source-idle-timeout", c.IdleTimeout},
		{"source-timeout", c.TotalTimeout},
	} {
		if t.value < time.Millisecond || t.value > time.Hour {
			errs = append(errs, fmt.Errorf("%s: %s is not within 1ms to 1h", t.key, t.value))
		}
	}
	return errors.Join(errs...)
}

// usesS3 tells whether an S3 client is needed at all.
func (c Config) usesS3() bool {
	for _, entry := range append([]string{c.Root}, c.Allow...) {
		if strings.HasPrefix(entry, s3Scheme) {
			return true
		}
	}
	return false
}
