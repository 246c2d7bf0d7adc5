package settings

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// faults gathers everything that is wrong with a Config.
type faults struct{ list []error }

func (f *faults) add(key, format string, args ...any) {
	f.list = append(f.list, &Error{Key: key, What: fmt.Sprintf(format, args...)})
}

func (f *faults) within(key string, value, low, high int64) {
	if value < low || value > high {
		f.add(key, "%d is not within %d to %d", value, low, high)
	}
}

func (f *faults) bytes(key string, value, low, high Bytes) {
	if value < low || value > high {
		f.add(key, "%s is not within %s to %s", value, low, high)
	}
}

func (f *faults) span(key string, value, low, high time.Duration) {
	if value < low || value > high {
		f.add(key, "%s is not within %s to %s", value, low, high)
	}
}

// Validate joins every fault, each naming its key and what is allowed. It
// looks at paths, since a missing certificate is a fault of the settings.
func (c Config) Validate() error {
	f := &faults{}
	if c.HTTPS && (c.TLSCert != "" || c.TLSKey != "") {
		f.add("https", "true makes a certificate, and tls-cert and tls-key name one; give only one of the two")
	}
	c.Listening.check(f)
	c.Protocols.check(f)
	c.Spooling.check(f)
	c.Caching.check(f)
	c.Sources.check(f)
	c.Reuse.check(f)
	c.Delivery.check(f)
	c.Work.check(f)
	c.Waiting.check(f)
	c.Scaling.check(f)
	c.Durable.check(f)
	c.Keeping.check(f)
	c.Working.check(f)
	f.within("max-url-bytes", int64(c.MaxURLBytes), 256, 1<<20)
	if err := c.Media().Validate(); err != nil {
		f.list = append(f.list, err)
	}
	if _, err := c.Keys(); err != nil {
		f.list = append(f.list, err)
	}
	if c.PresetsOnly && len(c.Presets) == 0 {
		f.add("presets-only", "needs at least one [presets.NAME] table in the file of settings")
	}
	if c.OTLPEndpoint != "" {
		f.webAddress("otlp-endpoint", c.OTLPEndpoint)
	}
	return errors.Join(f.list...)
}

func (l Listening) check(f *faults) {
	f.address("listen", l.Listen)
	if l.AdminListen != "" {
		f.address("admin-listen", l.AdminListen)
	}
	l.checkCertificate(f)
	f.span("drain-timeout", l.DrainTimeout, 0, time.Hour)
	f.span("header-timeout", l.HeaderTimeout, 100*time.Millisecond, 10*time.Minute)
	f.span("idle-timeout", l.IdleTimeout, time.Second, 24*time.Hour)
	f.span("stall-timeout", l.StallTimeout, time.Second, time.Hour)
	f.bytes("min-write-rate", l.MinWriteRate, 0, 1<<30)
}

// checkCertificate puts half a pair down to the half that was given, since only
// that one has a place where it stands.
func (l Listening) checkCertificate(f *faults) {
	before := len(f.list)
	if l.TLSCert != "" {
		f.file("tls-cert", l.TLSCert)
	}
	if l.TLSKey != "" {
		f.file("tls-key", l.TLSKey)
	}
	switch {
	case l.TLSCert != "" && l.TLSKey == "":
		f.add("tls-cert", "%q needs its private key; give tls-key, too", l.TLSCert)
	case l.TLSCert == "" && l.TLSKey != "":
		f.add("tls-key", "%q needs its certificate; give tls-cert, too", l.TLSKey)
	case l.TLSCert != "" && len(f.list) == before && regular(l.TLSCert) && regular(l.TLSKey):
		if _, err := tls.LoadX509KeyPair(l.TLSCert, l.TLSKey); err != nil {
			f.add("tls-cert", "%q and tls-key %q must be a certificate and its key, in PEM: %v", l.TLSCert, l.TLSKey, err)
		}
	}
}

func (p Protocols) check(f *faults) {
	f.oneOf("http2", p.HTTP2, "priority", "std", "off")
	f.oneOf("http2-order", p.HTTP2Order, "shortest", "fair", "urgency")
	f.within("http2-streams", int64(p.HTTP2Streams), 1, 10_000)
	f.bytes("http2-buffer", p.HTTP2Buffer, 64<<10, 1<<30)
}

func (s Spooling) check(f *faults) {
	if s.SpoolDir != "" {
		f.folder("spool-dir", s.SpoolDir)
	}
	f.bytes("spool-memory", s.SpoolMemory, 1<<20, 1<<40)
	f.bytes("spool-disk", s.SpoolDisk, 1<<20, 1<<50)
}

func (c Caching) check(f *faults) {
	f.space("cache-disk", c.CacheDisk)
	f.space("source-cache-disk", c.SourceCacheDisk)
	if facts, err := os.Stat(c.CacheDir); c.CacheDir != "" && err == nil && !facts.IsDir() {
		f.add("cache-dir", "%q is a file and not a folder", c.CacheDir)
	}
}

// space is none, or enough that its folders take no good part of it.
func (f *faults) space(key string, value Bytes) {
	const least, most Bytes = 16 << 20, 1 << 50
	if value != 0 && (value < least || value > most) {
		f.add(key, "%s is neither 0 nor within %s to %s", value, least, most)
	}
}

func (s Sources) check(f *faults) {
	if bucket, ok := strings.CutPrefix(s.SourceRoot, "s3://"); ok {
		if strings.Trim(bucket, "/") == "" {
			f.add("source-root", "%q names no bucket; write s3://BUCKET/PREFIX", s.SourceRoot)
		}
	} else if s.SourceRoot != "" {
		f.folder("source-root", s.SourceRoot)
	}
	f.span("source-timeout", s.SourceTimeout, 100*time.Millisecond, time.Hour)
	f.span("source-connect-timeout", s.SourceConnectTimeout, 100*time.Millisecond, time.Hour)
	f.span("source-header-timeout", s.SourceHeaderTimeout, 100*time.Millisecond, time.Hour)
	f.span("source-idle-timeout", s.SourceIdleTimeout, 100*time.Millisecond, time.Hour)
	f.within("source-retries", int64(s.SourceRetries), 0, 10)
	f.bytes("source-min-rate", s.SourceMinRate, 0, 1<<30)
	// With one place, a picture with a watermark could never be made.
	f.within("source-fetches", int64(s.SourceFetches), 2, 4096)
	f.within("source-fetches-per-origin", int64(s.SourceFetchesEach), 2, 4096)
	if s.S3Endpoint != "" {
		f.webAddress("s3-endpoint", s.S3Endpoint)
	}
	if (s.S3AccessKey == "") != (s.S3SecretKey == "") {
		f.add("s3-secret-key", "s3-access-key and s3-secret-key must be given together")
	}
}

func (r Reuse) check(f *faults) {
	const longest = 365 * 24 * time.Hour
	f.bytes("source-cache-memory", r.SourceCacheMemory, 0, 1<<40)
	f.span("source-fresh", r.SourceFresh, 0, longest)
	f.span("stale-while-revalidate", r.StaleWhileRevalidate, 0, longest)
	f.span("stale-if-error", r.StaleIfError, 0, longest)
}

func (d Delivery) check(f *faults) {
	f.span("cache-max-age", d.CacheMaxAge, 0, 10*365*24*time.Hour)
	f.span("error-max-age", d.ErrorMaxAge, 0, time.Hour)
	f.bytes("output-hold", d.OutputHold, 1, 1<<40)
	if d.CORSOrigin != "" && d.CORSOrigin != "*" {
		f.webAddress("cors-origin", d.CORSOrigin)
	}
}

func (w Work) check(f *faults) {
	f.within("jobs", int64(w.Jobs), 0, 1024)
	if w.MemoryBudget.Percent == 0 {
		f.bytes("memory-budget", w.MemoryBudget.Fixed, 16<<20, 1<<42)
	}
}

func (w Waiting) check(f *faults) {
	f.within("queue", int64(w.Queue), 0, 100_000)
	f.span("queue-wait", w.QueueWait, 0, time.Hour)
	f.span("overload-wait", w.OverloadWait, time.Millisecond, time.Hour)
	f.span("overload-after", w.OverloadAfter, 0, time.Hour)
	f.span("reduce-effort", w.ReduceEffort, 0, time.Hour)
	f.bytes("cache-memory", w.CacheMemory, 0, 1<<40)
}

func (s Scaling) check(f *faults) {
	f.within("workers-min", int64(s.WorkersMin), 1, 4096)
	f.within("workers-max", int64(s.WorkersMax), 0, 4096)
	if s.WorkersMax != 0 && s.WorkersMax < s.WorkersMin {
		f.add("workers-max", "%d is below workers-min, which is %d", s.WorkersMax, s.WorkersMin)
	}
	f.span("scale-wait", s.ScaleWait, time.Millisecond, time.Minute)
	if s.ScaleCheck != 0 {
		f.span("scale-check", s.ScaleCheck, time.Millisecond, time.Minute)
	}
	f.span("scale-cooldown", s.ScaleCooldown, 0, time.Hour)
	f.span("keep-idle", s.KeepIdle, time.Millisecond, time.Hour)
	f.span("retire-grace", s.RetireGrace, time.Millisecond, time.Hour)
}

func (f *faults) oneOf(key, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		f.add(key, "%q is not allowed; it must be one of %s", value, strings.Join(allowed, ", "))
	}
}

func (f *faults) address(key, value string) {
	_, port, err := net.SplitHostPort(value)
	number, portErr := strconv.Atoi(port)
	if err != nil || portErr != nil || number < 0 || number > 65535 {
		f.add(key, "%q is not an address; write HOST:PORT such as 127.0.0.1:8080 or :8080", value)
	}
}

func (f *faults) webAddress(key, value string) {
	address, err := url.Parse(value)
	if err != nil || address.Host == "" || (address.Scheme != "http" && address.Scheme != "https") {
		f.add(key, "%q is not a web address; write http:// or https:// and a host", value)
	}
}

func (f *faults) folder(key, path string) {
	if why := unreadable(path, true); why != "" {
		f.add(key, "%q %s", path, why)
	}
}

func (f *faults) file(key, path string) {
	if why := unreadable(path, false); why != "" {
		f.add(key, "%q %s", path, why)
	}
}

// unreadable ends the sentence about a path that cannot be used; it is empty
// when nothing stands in the way. Only files and folders are opened, since a
// pipe would block or lose its bytes.
func unreadable(path string, folder bool) string {
	facts, err := os.Stat(path)
	switch {
	case err != nil:
		return reason(err)
	case facts.IsDir() && !folder:
		return "is a folder and not a file"
	case !facts.IsDir() && folder:
		return "is a file and not a folder"
	case !facts.IsDir() && !facts.Mode().IsRegular():
		return ""
	}
	opened, err := os.Open(path)
	if err != nil {
		return reason(err)
	}
	_ = opened.Close() // nothing was written
	return ""
}

// regular tells a file that may be read twice from a pipe.
func regular(path string) bool {
	facts, err := os.Stat(path)
	return err == nil && facts.Mode().IsRegular()
}

func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "does not exist"
	case errors.Is(err, fs.ErrPermission):
		return "may not be read by the user that runs this"
	}
	return "cannot be read"
}
