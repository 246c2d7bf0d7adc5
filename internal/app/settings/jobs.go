package settings

import (
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Durable says where jobs are kept, and what they read and write.
type Durable struct {
	Database string `name:"database" placeholder:"sqlite:///FILE|postgres://…" masked:"" help:"Where jobs are kept. When empty, up keeps them in the file jobs.db in data, and serve has no jobs. A password is better given in the environment or the file than on a command line, which every user of the machine can see."`
	Redis    string `name:"redis" placeholder:"redis://…" masked:"" help:"Redis that wakes workers and holds the depth of each queue as the length of the list queue:NAME; when empty, workers of other processes find new jobs by polling."`
	Blob     string `name:"blob" placeholder:"DIR|s3://BUCKET/PREFIX" help:"Folder or bucket of uploads and of what jobs make; the folder blobs in data when empty. All processes of a cluster need the same."`
}

// Keeping says who may ask for jobs over HTTP, and what becomes of those that
// are over.
type Keeping struct {
	APITokenFile         string        `name:"api-token-file" placeholder:"FILE" help:"File of tokens that the jobs API takes, one line each as the command token prints it; up also takes the one it keeps in the file api-token in data."`
	APIToken             string        `name:"api-token" kong:"-" secret:"" help:"Token that the commands of jobs show a server which is named by --server."`
	ReconcileInterval    time.Duration `name:"reconcile-interval" default:"10s" placeholder:"TIME" help:"Time between two repairs of the depths in Redis, made by one process of all."`
	JobAgeing            time.Duration `name:"job-ageing" default:"0s" placeholder:"TIME" help:"Wait after which jobs of priority 4 to 10 move up by one, as far as 4; 0s never, so that a busy queue can keep the lowest waiting."`
	RetentionSucceeded   time.Duration `name:"retention-succeeded" default:"72h" placeholder:"TIME" help:"How long jobs are kept that succeeded or were cancelled, and with them their idempotency keys."`
	RetentionFailed      time.Duration `name:"retention-failed" default:"336h" placeholder:"TIME" help:"How long jobs are kept that failed, so that somebody can look at them and try them again."`
	WebhookKey           string        `name:"webhook-key" kong:"-" secret:"" help:"Key that webhooks are signed with, 16 bytes or more; without it they are sent unsigned."`
	AllowPrivateWebhooks bool          `name:"allow-private-webhooks" help:"Let webhooks lie in private networks. For tests and closed networks."`
}

// Working says what a worker takes and how it is known.
type Working struct {
	Queues             []string      `name:"queues" placeholder:"NAME,…" help:"Queues that are worked on, of images, documents, ocr, media, bulk and your own; all five when empty."`
	Reserve            []string      `name:"reserve" placeholder:"NAME=N,…" help:"How many of max are kept for a queue, such as images=1; jobs of other queues share the rest."`
	Max                int           `name:"max" default:"0" placeholder:"N" help:"Jobs worked on at the same time; 0 takes twice the cores seen. What they take of processors and memory is bounded besides."`
	BackgroundJobs     int           `name:"background-jobs" default:"0" placeholder:"N" help:"How many of the pictures worked on at the same time may be those of durable jobs, so that the rest is there for requests; 0 takes one less than jobs, and all in work, which answers none."`
	Lease              time.Duration `name:"lease" default:"1m" placeholder:"TIME" help:"How long after its worker's last sign of life a job is given to another; workers give one four times as often."`
	JobDrainTimeout    time.Duration `name:"job-drain-timeout" default:"5m" placeholder:"TIME" help:"How long running jobs may go on after the first signal to stop; then another worker gets them, with what they have done so far."`
	WorkerID           string        `name:"worker-id" placeholder:"NAME" help:"Name of this worker, unique among all; made of the host's when empty."`
	WorkerProvider     string        `name:"worker-provider" default:"vps" placeholder:"NAME" help:"Who provides the machine."`
	WorkerRegion       string        `name:"worker-region" placeholder:"NAME" help:"Where the machine stands."`
	WorkerInstanceType string        `name:"worker-instance-type" placeholder:"NAME" help:"Kind of machine, as its provider calls it."`
	WorkerMarket       string        `name:"worker-market" default:"vps" enum:"vps,on_demand,spot" placeholder:"MARKET" help:"How the machine is paid for: vps, on_demand or spot. A spot machine, which may be taken away, takes no job of priority 1 to 3, and no long one that could not be resumed."`
	CacheURL           string        `name:"cache-url" placeholder:"URL" help:"Image server whose cache bulk jobs with into=cache warm by asking it; when empty, up warms its own, and work refuses such jobs. The keys that sign its URLs are those of the settings."`
}

// Scheduling says where the scheduler's settings are.
type Scheduling struct {
	SchedulerConfig string `name:"scheduler-config" placeholder:"FILE" help:"File of the scheduler, in JSON; /etc/hypermedia/scheduler.json when empty. Nobody but its owner and root may be able to write it."`
}

// The usual queues.
var usualQueues = []string{"images", "documents", "ocr", "media", "bulk"}

// WorkedOn is the queues that a worker takes jobs of.
func (w Working) WorkedOn() []string {
	if len(w.Queues) == 0 {
		return slices.Clone(usualQueues)
	}
	return slices.Clone(w.Queues)
}

// Reserved is how many slots are kept for each queue.
func (w Working) Reserved() map[string]int {
	kept := map[string]int{}
	for _, text := range w.Reserve {
		name, number, _ := strings.Cut(text, "=")
		kept[name], _ = strconv.Atoi(number) // validated
	}
	return kept
}

const sqliteScheme = "sqlite://"

// SQLiteFile is the path of a database in a file, and empty for any other.
func (d Durable) SQLiteFile() string {
	path, _ := strings.CutPrefix(d.Database, sqliteScheme)
	if path == d.Database {
		return ""
	}
	return path
}

// OwnDatabase is the database of a process that is told of none, in data.
func (g Groups) OwnDatabase() string { return sqliteScheme + filepath.Join(g.Data, "jobs.db") }

// OwnToken is the file with the token of a server that makes one for itself.
func (g Groups) OwnToken() string { return filepath.Join(g.Data, "api-token") }

// OwnCertificate is the file with the certificate, and its key, of a server
// that makes one for itself.
func (g Groups) OwnCertificate() string { return filepath.Join(g.Data, "certificate.pem") }

// Blobs is where uploads and what jobs make are kept.
func (g Groups) Blobs() string {
	if g.Blob != "" {
		return g.Blob
	}
	return filepath.Join(g.Data, "blobs")
}

// secretParameters of an address may hold a password as well as its user part.
var secretParameters = []string{"password", "sslpassword"}

// mask is address without what nobody else may read.
func mask(address string) string {
	if !strings.Contains(address, "://") {
		return address
	}
	u, err := url.Parse(address)
	if err != nil {
		// Where the password stands in it cannot be told.
		return hidden
	}
	query := u.Query()
	for _, name := range secretParameters {
		if query.Has(name) {
			query.Set(name, "xxxxx")
			u.RawQuery = query.Encode()
		}
	}
	return u.Redacted()
}
