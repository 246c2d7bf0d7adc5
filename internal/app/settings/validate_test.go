package settings_test

import (
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/app/settings"
)

func TestValidateNamesTheKey(t *testing.T) {
	tests := []struct {
		name   string
		change func(*settings.Config)
		want   string
	}{
		{"an address needs a port", func(c *settings.Config) { c.Listen = "localhost" }, "listen: "},
		{"a port has an upper end", func(c *settings.Config) { c.Listen = ":70000" }, "listen: "},
		{"the admin address is checked too", func(c *settings.Config) { c.AdminListen = "x" }, "admin-listen: "},
		{"a certificate needs its key", func(c *settings.Config) { c.TLSCert = "validate_test.go" }, `tls-cert: "validate_test.go" needs its private key; give tls-key, too`},
		{"a key needs its certificate", func(c *settings.Config) { c.TLSKey = "validate_test.go" }, `tls-key: "validate_test.go" needs its certificate; give tls-cert, too`},
		{"a certificate must be there", func(c *settings.Config) { c.TLSCert, c.TLSKey = "/none", "/none" }, "tls-cert: "},
		{"half a pair must be there, too", func(c *settings.Config) { c.TLSKey = "/none" }, `tls-key: "/none" does not exist`},
		{"a certificate is one", func(c *settings.Config) { c.TLSCert, c.TLSKey = "validate_test.go", "load_test.go" }, `tls-cert: "validate_test.go" and tls-key "load_test.go" must be a certificate and its key, in PEM: `},
		{"a certificate is given or made", func(c *settings.Config) { c.HTTPS, c.TLSCert, c.TLSKey = true, "validate_test.go", "validate_test.go" }, "https: "},
		{"there is no fourth server of HTTP/2", func(c *settings.Config) { c.HTTP2 = "fast" }, `http2: "fast" is not allowed; it must be one of priority, std, off`},
		{"nor a fourth order", func(c *settings.Config) { c.HTTP2Order = "fast" }, "http2-order: "},
		{"a connection has some stream", func(c *settings.Config) { c.HTTP2Streams = 0 }, "http2-streams: 0 is not within 1 to 10000"},
		{"a connection holds some bytes", func(c *settings.Config) { c.HTTP2Buffer = 1 }, "http2-buffer: 1 is not within 64KiB to 1GiB"},
		{"a drain cannot take a day", func(c *settings.Config) { c.DrainTimeout = 24 * time.Hour }, "drain-timeout: "},
		{"a root must be a folder", func(c *settings.Config) { c.SourceRoot = "/none" }, "source-root: "},
		{"a bucket needs a name", func(c *settings.Config) { c.SourceRoot = "s3://" }, "source-root: "},
		{"a spool folder must be there", func(c *settings.Config) { c.SpoolDir = "/none" }, "spool-dir: "},
		{"a cache on disk needs room for its folders", func(c *settings.Config) { c.CacheDisk = 1 << 20 }, "cache-disk: "},
		{"a cache of originals needs room for its folders", func(c *settings.Config) { c.SourceCacheDisk = 1 << 20 }, "source-cache-disk: "},
		{"a cache folder is no file", func(c *settings.Config) { c.CacheDir = "validate_test.go" }, "cache-dir: "},
		{"an endpoint needs a scheme", func(c *settings.Config) { c.S3Endpoint = "minio:9000" }, "s3-endpoint: "},
		{"half a pair of keys is refused", func(c *settings.Config) { c.S3AccessKey = "id" }, "s3-secret-key: "},
		{"retries are few", func(c *settings.Config) { c.SourceRetries = 99 }, "source-retries: "},
		{"a picture and its watermark are fetched together", func(c *settings.Config) { c.SourceFetches = 1 }, "source-fetches: "},
		{"kept originals take no negative space", func(c *settings.Config) { c.SourceCacheMemory = -1 }, "source-cache-memory: "},
		{"nothing is fresh for years", func(c *settings.Config) { c.SourceFresh = 9000 * time.Hour }, "source-fresh: "},
		{"what is stale is not used for years", func(c *settings.Config) { c.StaleWhileRevalidate = 9000 * time.Hour }, "stale-while-revalidate: "},
		{"what is stale cannot have a negative time", func(c *settings.Config) { c.StaleIfError = -1 }, "stale-if-error: "},
		{"a queue is not negative", func(c *settings.Config) { c.Queue = -1 }, "queue: "},
		{"some worker always lives", func(c *settings.Config) { c.WorkersMin = 0 }, "workers-min: "},
		{"the most workers are not below the least", func(c *settings.Config) { c.WorkersMin, c.WorkersMax = 4, 3 }, "workers-max: "},
		{"looks at the signal cost time", func(c *settings.Config) { c.ScaleCheck = time.Microsecond }, "scale-check: "},
		{"a cooldown is not negative", func(c *settings.Config) { c.ScaleCooldown = -1 }, "scale-cooldown: "},
		{"a budget of a few bytes is refused", func(c *settings.Config) { c.MemoryBudget = settings.Share{Fixed: 10} }, "memory-budget: "},
		{"limits of the image path are checked", func(c *settings.Config) { c.MaxOutputSide = 0 }, "max-output-side: "},
		{"presets-only needs a preset", func(c *settings.Config) { c.PresetsOnly = true }, "presets-only: "},
		{"a collector needs a scheme", func(c *settings.Config) { c.OTLPEndpoint = "collector:4318" }, "otlp-endpoint: "},
		{"a key file must be there", func(c *settings.Config) { c.SignatureKeyFile = "/none" }, "signature-key-file: "},
		{"a signing key must be long", func(c *settings.Config) { c.SignatureKeys = []string{"short"} }, "signature-keys: "},
		{"a database is of a kind that is known", func(c *settings.Config) { c.Database = "mysql://h/d" }, "database: "},
		{"a path alone is no database", func(c *settings.Config) { c.Database = "jobs.db" }, "database: "},
		{"a database in a file needs its name", func(c *settings.Config) { c.Database = "sqlite://" }, "database: "},
		{"the bell is a Redis", func(c *settings.Config) { c.Redis = "localhost:6379" }, "redis: "},
		{"blobs lie in a folder", func(c *settings.Config) { c.Blob = "validate_test.go" }, "blob: "},
		{"a bucket of blobs needs a name", func(c *settings.Config) { c.Blob = "s3://" }, "blob: "},
		{"blobs lie on no other service", func(c *settings.Config) { c.Blob = "gs://b" }, "blob: "},
		{"a file of tokens must be there", func(c *settings.Config) { c.APITokenFile = "/none" }, "api-token-file: "},
		{"depths are not repaired all the time", func(c *settings.Config) { c.ReconcileInterval = time.Millisecond }, "reconcile-interval: "},
		{"nor hardly ever", func(c *settings.Config) { c.ReconcileInterval = 30 * time.Minute }, "reconcile-interval: "},
		{"a level of ageing takes a while", func(c *settings.Config) { c.JobAgeing = time.Millisecond }, "job-ageing: "},
		{"a job that succeeded is kept for a moment", func(c *settings.Config) { c.RetentionSucceeded = 0 }, "retention-succeeded: "},
		{"a job that failed is kept for a moment", func(c *settings.Config) { c.RetentionFailed = 0 }, "retention-failed: "},
		{"a webhook's key must be long", func(c *settings.Config) { c.WebhookKey = "short" }, "webhook-key: "},
		{"a queue has a plain name", func(c *settings.Config) { c.Queues = []string{"Images"} }, "queues: "},
		{"a queue is named once", func(c *settings.Config) { c.Queues = []string{"ocr", "ocr"} }, "queues: "},
		{"there are not thousands of jobs at once", func(c *settings.Config) { c.Max = 5000 }, "max: "},
		{"slots are kept by number", func(c *settings.Config) { c.Reserve = []string{"images"} }, "reserve: "},
		{"none are kept for a queue that is not worked on", func(c *settings.Config) { c.Reserve = []string{"nightly=1"} }, "reserve: "},
		{"slots of a queue are kept once", func(c *settings.Config) { c.Reserve = []string{"ocr=1", "ocr=2"} }, "reserve: "},
		{"a queue for which none are kept has one to share", func(c *settings.Config) { c.Max, c.Reserve = 2, []string{"ocr=1", "bulk=1"} }, "reserve: "},
		{"nor in the background", func(c *settings.Config) { c.BackgroundJobs = 5000 }, "background-jobs: "},
		{"a lease outlasts a hiccup", func(c *settings.Config) { c.Lease = time.Second }, "lease: "},
		{"a drain of jobs ends within a day", func(c *settings.Config) { c.JobDrainTimeout = 48 * time.Hour }, "job-drain-timeout: "},
		{"a worker's name is one word", func(c *settings.Config) { c.WorkerID = "a b" }, "worker-id: "},
		{"a region is one word", func(c *settings.Config) { c.WorkerRegion = "a b" }, "worker-region: "},
		{"a cache to warm is a web address", func(c *settings.Config) { c.CacheURL = "images:8080" }, "cache-url: "},
		{"an origin is a web address", func(c *settings.Config) { c.CORSOrigin = "example.com" }, "cors-origin: "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config := settings.Defaults()
			test.change(&config)
			err := config.Validate()
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("fault = %v, want one that begins with %q", err, test.want)
			}
		})
	}
}

func TestValidateJoinsAllFaults(t *testing.T) {
	config := settings.Defaults()
	config.Listen, config.Queue, config.MaxFrames = "x", -1, 0
	err := config.Validate()
	for _, key := range []string{"listen: ", "queue: ", "max-frames: "} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("faults %v do not name %q", err, key)
		}
	}
}

func TestWhatKeepsAPathFromBeingUsedIsTold(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		change func(*settings.Config)
		want   string
	}{
		{"a file that is missing", func(c *settings.Config) { c.TLSCert, c.TLSKey = file+"?", file }, `tls-cert: "` + file + `?" does not exist`},
		{"a folder for a file", func(c *settings.Config) { c.TLSCert, c.TLSKey = folder, file }, `tls-cert: "` + folder + `" is a folder and not a file`},
		{"a folder that is missing", func(c *settings.Config) { c.SourceRoot = folder + "?" }, `source-root: "` + folder + `?" does not exist`},
		{"a file for a folder", func(c *settings.Config) { c.SourceRoot = file }, `source-root: "` + file + `" is a file and not a folder`},
		{"a path below a file", func(c *settings.Config) { c.SpoolDir = file + "/x" }, `spool-dir: "` + file + `/x" cannot be read`},
		{"a folder for a file of keys", func(c *settings.Config) { c.SignatureKeyFile = folder }, `signature-key-file: "` + folder + `" is a folder and not a file`},
		{"a missing file of keys", func(c *settings.Config) { c.SignatureKeyFile = file + "?" }, `signature-key-file: "` + file + `?" does not exist`},
		{"a file of keys without keys", func(c *settings.Config) { c.SignatureKeyFile = file }, `signature-key-file: holds no key; write one a line`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config := settings.Defaults()
			test.change(&config)
			if err := config.Validate(); err == nil || err.Error() != test.want {
				t.Errorf("fault = %v, want %q", err, test.want)
			}
		})
	}
}

func TestKeysAreReadFromTheFileAndTheSetting(t *testing.T) {
	raw := "a raw key of many bytes"
	path := filepath.Join(t.TempDir(), "keys")
	content := "# current\nhex:" + hex.EncodeToString([]byte(raw)) + "\n\nbase64:" + base64.StdEncoding.EncodeToString([]byte(raw)) + "\n" + raw + "\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	signing := settings.Signing{SignatureKeyFile: path, SignatureKeys: []string{raw + "!"}}
	got, err := signing.Keys()
	want := [][]byte{[]byte(raw), []byte(raw), []byte(raw), []byte(raw + "!")}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("keys differ (-want +got), %v:\n%s", err, diff)
	}
}

func TestFaultsOfKeysNeverTellTheKey(t *testing.T) {
	for _, line := range []string{"hex:secretsecret", "base64:se#cret", "secret"} {
		t.Run("refuses "+line, func(t *testing.T) {
			_, err := settings.ParseKeys([]string{line})
			if err == nil || strings.Contains(err.Error(), "cret") {
				t.Errorf("fault = %v; want one without the key", err)
			}
		})
	}
}

func TestCacheFoldersLieInDataUnlessToldOtherwise(t *testing.T) {
	config := settings.Defaults()
	config.Data = "own"
	if got := config.ResultCache(); got != filepath.Join("own", "cache", "results") {
		t.Errorf("results in %q", got)
	}
	config.CacheDir = "fast"
	if got := config.SourceCache(); got != filepath.Join("fast", "sources") {
		t.Errorf("originals in %q", got)
	}
}
