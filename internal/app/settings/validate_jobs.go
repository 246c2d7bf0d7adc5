package settings

import (
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// minWebhookKey is the shortest key that webhooks are signed with: 128 bits.
const minWebhookKey = 16

func (d Durable) check(f *faults) {
	f.server("database", d.Database, "write sqlite:///FILE or postgres://USER@HOST/DATABASE", "sqlite", "postgres", "postgresql")
	if d.Database != "" && strings.HasPrefix(d.Database, sqliteScheme) && d.SQLiteFile() == "" {
		f.add("database", "%q names no file; write sqlite:///FILE", d.Database)
	}
	f.server("redis", d.Redis, "write redis://HOST:PORT/0, rediss:// for TLS, or unix:///SOCKET", "redis", "rediss", "unix")
	f.blobs(d.Blob)
}

func (k Keeping) check(f *faults) {
	if k.APITokenFile != "" {
		f.file("api-token-file", k.APITokenFile)
	}
	f.span("reconcile-interval", k.ReconcileInterval, time.Second, 10*time.Minute)
	if k.JobAgeing != 0 {
		f.span("job-ageing", k.JobAgeing, time.Second, 30*24*time.Hour)
	}
	f.span("retention-succeeded", k.RetentionSucceeded, time.Minute, 10*365*24*time.Hour)
	f.span("retention-failed", k.RetentionFailed, time.Minute, 10*365*24*time.Hour)
	if n := len(k.WebhookKey); n > 0 && n < minWebhookKey {
		f.add("webhook-key", "has %d bytes; it must have %d or more", n, minWebhookKey)
	}
}

// server is an address that may hold a password, which is not repeated.
func (f *faults) server(key, address, form string, schemes ...string) {
	if address == "" {
		return
	}
	u, err := url.Parse(address)
	if err != nil {
		// The error of the parser repeats all of the address.
		f.add(key, "its value cannot be read as an address, perhaps for letters of a password that must be percent-encoded; %s", form)
		return
	}
	if !slices.Contains(schemes, u.Scheme) {
		f.add(key, "its value is not an address of a kind that is known; %s", form)
	}
}

func (f *faults) blobs(place string) {
	if bucket, ok := strings.CutPrefix(place, "s3://"); ok {
		if strings.Trim(bucket, "/") == "" {
			f.add("blob", "%q names no bucket; write s3://BUCKET/PREFIX", place)
		}
	} else if strings.Contains(place, "://") {
		f.add("blob", "its value is neither a folder nor a bucket; write s3://BUCKET/PREFIX for a bucket")
	} else if facts, err := os.Stat(place); place != "" && err == nil && !facts.IsDir() {
		f.add("blob", "%q is a file and not a folder", place)
	}
}

func (w Working) check(f *faults) {
	for i, queue := range w.Queues {
		if !jobs.QueueName(queue) {
			f.add("queues", "%.60q is not 1 to 40 lower-case letters, digits, - and _", queue)
		}
		if slices.Contains(w.Queues[:i], queue) {
			f.add("queues", "%q is given twice", queue)
		}
	}
	f.within("max", int64(w.Max), 0, 1024)
	f.reserve(w)
	f.within("background-jobs", int64(w.BackgroundJobs), 0, 1024)
	f.span("lease", w.Lease, 5*time.Second, time.Hour)
	f.span("job-drain-timeout", w.JobDrainTimeout, 0, 24*time.Hour)
	f.word("worker-id", w.WorkerID)
	f.word("worker-provider", w.WorkerProvider)
	f.word("worker-region", w.WorkerRegion)
	f.word("worker-instance-type", w.WorkerInstanceType)
	if w.CacheURL != "" {
		f.webAddress("cache-url", w.CacheURL)
	}
}

// reserve is a number for some of the worker's queues. What is kept for queues
// leaves a slot for the others, which would wait for ever without.
func (f *faults) reserve(w Working) {
	sum, seen := 0, map[string]bool{}
	for _, text := range w.Reserve {
		name, number, _ := strings.Cut(text, "=")
		n, err := strconv.Atoi(number)
		switch {
		case err != nil || n < 1 || n > 1024:
			f.add("reserve", "%.60q is not a queue and a number from 1 to 1024, such as images=1", text)
		case !slices.Contains(w.WorkedOn(), name):
			f.add("reserve", "%.60q is none of the queues that are worked on", name)
		case seen[name]:
			f.add("reserve", "%q is given twice", name)
		}
		seen[name] = true
		sum += n
	}
	shared := w.Max - sum
	if w.Max > 0 && (shared < 0 || shared == 0 && len(seen) < len(w.WorkedOn())) {
		f.add("reserve", "%d are kept of max, which is %d; other queues need one at least", sum, w.Max)
	}
}

// word is what goes into a column, a log and a label as it is.
func (f *faults) word(key, text string) {
	if len(text) > 100 || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		f.add(key, "%.60q is not at most 100 letters, digits and signs of ASCII without spaces", text)
	}
}
