package settings

import (
	"time"

	"github.com/spillway-media/spillway/internal/media"
)

// Config is every setting. The tags are the single table of the program: the
// command line, the environment, the file and docs/config.md are made from or
// held against them. A field tagged kong:"-" cannot be given as a flag,
// because a command line is visible to every user of the machine.
type Config struct {
	Groups
	// Presets are named queries; only the file has them, as tables.
	Presets map[string]string
	// Helper is no setting: it is how the program starts itself once more, to
	// encode where it can be stopped. Without it encoders run in the server.
	Helper Helper
	// Hurry is no setting: it is closed when the jobs that still run are to be
	// given back at once. Nil never is.
	Hurry <-chan struct{}
	// File is no setting: it is the file of settings that was read, if any.
	File string
}

// Helper is a command and all of its environment.
type Helper struct{ Command, Env []string }

// Groups are the settings that are one value each, as they stand in --help.
type Groups struct {
	Listening  `group:"Listening"`
	Protocols  `group:"Listening"`
	Storage    `group:"Files"`
	Spooling   `group:"Files"`
	Caching    `group:"Files"`
	Sources    `group:"Sources"`
	Reuse      `group:"Sources"`
	Signing    `group:"Signatures and presets"`
	Delivery   `group:"Delivery"`
	Limits     `group:"Limits of one request"`
	Requests   `group:"Limits of one request"`
	Work       `group:"Work and memory"`
	Waiting    `group:"Work and memory"`
	Scaling    `group:"Workers"`
	Durable    `group:"Jobs"`
	Keeping    `group:"Jobs"`
	Working    `group:"Job worker"`
	Scheduling `group:"Scheduler"`
	Observing  `group:"Logs and traces"`
}

// Listening says where and how connections are taken.
type Listening struct {
	Listen        string        `name:"listen" default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Address to serve on; port 0 takes a free one and prints it."`
	AdminListen   string        `name:"admin-listen" placeholder:"HOST:PORT" help:"Address for metrics and profiles; off when empty."`
	TLSCert       string        `name:"tls-cert" placeholder:"FILE" help:"Certificate chain in PEM; turns on HTTPS. A file that changes is read again."`
	TLSKey        string        `name:"tls-key" placeholder:"FILE" help:"Private key of the certificate in PEM."`
	DrainTimeout  time.Duration `name:"drain-timeout" default:"20s" placeholder:"TIME" help:"How long running requests may finish after the first signal to stop."`
	HeaderTimeout time.Duration `name:"header-timeout" default:"10s" placeholder:"TIME" help:"How long a client may take to send a request's header."`
	IdleTimeout   time.Duration `name:"idle-timeout" default:"2m" placeholder:"TIME" help:"How long an unused connection is kept."`
	StallTimeout  time.Duration `name:"stall-timeout" default:"30s" placeholder:"TIME" help:"How long a client may take no bytes of an answer before it is dropped."`
	MinWriteRate  Bytes         `name:"min-write-rate" default:"2KiB" placeholder:"SIZE" help:"Least bytes a second that a client must take over its whole answer; 0 waits for any that does not stall."`
}

// Protocols says how connections are spoken.
type Protocols struct {
	HTTPS        bool   `name:"https" help:"Serve HTTPS with a certificate that the program makes for itself and keeps in data; for up only."`
	HTTP2        string `name:"http2" default:"priority" enum:"priority,std,off" placeholder:"SERVER" help:"How HTTP/2 is served: priority (all pictures of a page show early, see docs/h2.md), std (Go's own server, in turns), or off. Over TLS clients negotiate it, without they must know before."`
	HTTP2Order   string `name:"http2-order" default:"shortest" enum:"shortest,fair,urgency" placeholder:"ORDER" help:"With priority, who is next among answers of one urgency: shortest (headers of pictures, then previews, then the rest, the shortest first), fair (the same, in turns), or urgency (in turns, whatever the bytes are)."`
	HTTP2Streams int    `name:"http2-streams" default:"250" placeholder:"N" help:"Requests of one HTTP/2 connection that may be open at the same time."`
	HTTP2Buffer  Bytes  `name:"http2-buffer" default:"2MiB" placeholder:"SIZE" help:"With priority, bytes of answers that may wait for one HTTP/2 connection; beyond it each answer still has 4KiB."`
}

// Storage says where the program keeps files of its own.
type Storage struct {
	Data string `name:"data" default:"./data" placeholder:"DIR" help:"Folder for files of the program's own: the database of jobs, what they make, the token and the certificate of up, its demo pictures, and what is kept on disk, each unless a setting says otherwise."`
}

// Spooling says where bytes lie while they are on their way.
type Spooling struct {
	SpoolDir    string `name:"spool-dir" placeholder:"DIR" help:"Folder for temporary files; the system's own when empty."`
	SpoolMemory Bytes  `name:"spool-memory" default:"64MiB" placeholder:"SIZE" help:"Memory for bytes on their way in and out; more goes to spool-dir."`
	SpoolDisk   Bytes  `name:"spool-disk" default:"4GiB" placeholder:"SIZE" help:"Disk space for bytes on their way in and out."`
}

// Caching says what is kept on disk over restarts.
type Caching struct {
	CacheDir        string `name:"cache-dir" placeholder:"DIR" help:"Folder of what is kept on disk, made when it is not there; the folder cache in data when empty."`
	CacheDisk       Bytes  `name:"cache-disk" default:"0" placeholder:"SIZE" help:"Disk space for results that are kept over restarts; 0 keeps none."`
	SourceCacheDisk Bytes  `name:"source-cache-disk" default:"0" placeholder:"SIZE" help:"Disk space for originals that are kept over restarts; 0 keeps none."`
}

// Sources says where originals may come from.
type Sources struct {
	SourceRoot           string        `name:"source-root" placeholder:"DIR|s3://BUCKET/PREFIX" help:"Folder or bucket that file keys and /assets are read from."`
	AllowSource          []string      `name:"allow-source" placeholder:"HOST-OR-PREFIX" help:"Host (example.com, example.com:8443, *.example.com), URL prefix or s3://bucket that image_url may name; repeatable. None are allowed by default."`
	AllowPrivateSources  bool          `name:"allow-private-sources" help:"Let allowed hosts lie in private networks. For tests and closed networks."`
	SourceTimeout        time.Duration `name:"source-timeout" default:"1m" placeholder:"TIME" help:"Longest time for a whole original, retries included."`
	SourceConnectTimeout time.Duration `name:"source-connect-timeout" default:"5s" placeholder:"TIME" help:"Longest time to resolve and connect to an origin."`
	SourceHeaderTimeout  time.Duration `name:"source-header-timeout" default:"10s" placeholder:"TIME" help:"Longest wait for an origin's first answer."`
	SourceIdleTimeout    time.Duration `name:"source-idle-timeout" default:"10s" placeholder:"TIME" help:"Longest pause between an origin's bytes."`
	SourceMinRate        Bytes         `name:"source-min-rate" default:"1KiB" placeholder:"SIZE" help:"Least bytes a second, over ten seconds, that an original must bring once it began; 0 takes any."`
	SourceRetries        int           `name:"source-retries" default:"2" placeholder:"N" help:"Further attempts after a failed connection or a 5xx answer."`
	SourceFetches        int           `name:"source-fetches" default:"256" placeholder:"N" help:"Originals fetched at the same time; one origin gets half of it at most."`
	SourceFetchesEach    int           `name:"source-fetches-per-origin" default:"64" placeholder:"N" help:"Originals fetched from one origin at the same time; four times as many may wait for it."`
	SourceBreaker        bool          `name:"source-breaker" default:"true" help:"Leave an origin alone for 5s to 1m when it fails repeatedly."`
	S3Endpoint           string        `name:"s3-endpoint" placeholder:"URL" help:"S3 service other than Amazon's."`
	S3Region             string        `name:"s3-region" placeholder:"NAME" help:"Region of the buckets; the usual AWS settings when empty."`
	S3PathStyle          bool          `name:"s3-path-style" help:"Put the bucket in the path, as MinIO and others want it."`
	S3AccessKey          string        `name:"s3-access-key" kong:"-" secret:"" help:"Access key of the buckets; the usual AWS settings when empty."`
	S3SecretKey          string        `name:"s3-secret-key" kong:"-" secret:"" help:"Secret key of the buckets."`
}

// Reuse says for how long originals are used again, and what is kept for it.
type Reuse struct {
	SourceCacheMemory    Bytes         `name:"source-cache-memory" default:"32MiB" placeholder:"SIZE" help:"Originals kept in memory after use; 0 keeps none."`
	SourceFresh          time.Duration `name:"source-fresh" default:"0s" placeholder:"TIME" help:"How long an original is used again without a question to its origin, when that says nothing about it; 0s asks each time."`
	StaleWhileRevalidate time.Duration `name:"stale-while-revalidate" default:"0s" placeholder:"TIME" help:"How long after its freshness an original is still used while its origin is asked in the background, when that says nothing about it."`
	StaleIfError         time.Duration `name:"stale-if-error" default:"1h" placeholder:"TIME" help:"How long after its freshness an original is still used when its origin is unavailable, when that says nothing about it."`
}

// Signing says which requests are answered at all.
type Signing struct {
	SignatureKeyFile string   `name:"signature-key-file" placeholder:"FILE" help:"File of signing keys, one a line; with a key every picture URL must be signed."`
	SignatureKeys    []string `name:"signature-keys" kong:"-" secret:"" help:"Signing keys themselves, written as in the file."`
	PresetsOnly      bool     `name:"presets-only" help:"Answer only URLs that name a preset and set nothing else."`
}

// Delivery says how results are handed out.
type Delivery struct {
	CacheMaxAge       time.Duration `name:"cache-max-age" default:"24h" placeholder:"TIME" help:"max-age of Cache-Control on results."`
	ErrorMaxAge       time.Duration `name:"error-max-age" default:"0s" placeholder:"TIME" help:"How long caches may keep lasting faults, such as a missing original; 0s forbids it."`
	HonourOriginCache bool          `name:"honour-origin-cache" help:"Take max-age from the origin's answer where it has one."`
	ClientHints       bool          `name:"client-hints" help:"Ask browsers for Width and DPR hints and use them."`
	OutputHold        Bytes         `name:"output-hold" default:"32KiB" placeholder:"SIZE" help:"Bytes of a result that have to be there before its answer begins. More lets late faults become clean errors, less lets large pictures begin sooner."`
	CORSOrigin        string        `name:"cors-origin" default:"*" placeholder:"ORIGIN" help:"Whose scripts may read answers: *, one origin such as https://www.example.com, or nobody when empty."`
}

// Limits bound what one request may cost.
type Limits struct {
	MaxSourceBytes   Bytes         `name:"max-source-bytes" default:"64MiB" placeholder:"SIZE" help:"Encoded size of an original."`
	MaxPixels        int64         `name:"max-pixels" default:"100000000" placeholder:"N" help:"Width x height x frames of an original."`
	MaxOutputSide    int           `name:"max-output-side" default:"16384" placeholder:"PIXELS" help:"Longest side of a result."`
	MaxOutputBytes   Bytes         `name:"max-output-bytes" default:"256MiB" placeholder:"SIZE" help:"Encoded size of one result."`
	MaxOutputs       int           `name:"max-outputs" default:"16" placeholder:"N" help:"Sizes in one request."`
	MaxFrames        int           `name:"max-frames" default:"500" placeholder:"N" help:"Frames of an animated original."`
	TransformTimeout time.Duration `name:"transform-timeout" default:"15s" placeholder:"TIME" help:"Wall time of one decode and its encodes."`
	MaxJPEGScans     int           `name:"max-jpeg-scans" default:"100" placeholder:"N" help:"Scans of a progressive JPEG."`
	MaxSVGNodes      int           `name:"max-svg-nodes" default:"50000" placeholder:"N" help:"Elements of an SVG after its references are expanded."`
	MaxMetadataBytes Bytes         `name:"max-metadata-bytes" default:"16MiB" placeholder:"SIZE" help:"One block of metadata once inflated."`
	MaxPage          int           `name:"max-page" default:"1000" placeholder:"N" help:"Highest page of a document."`
	AllowPDF         bool          `name:"allow-pdf" help:"Read PDF originals. Only for sources you trust: a page can keep its decoder busy for minutes, and nothing stops it."`
}

// Requests bound a request itself, whatever it asks for.
type Requests struct {
	MaxURLBytes int `name:"max-url-bytes" default:"8192" placeholder:"N" help:"Path and query of a request."`
}

// Work says how much is done at once.
type Work struct {
	Jobs         int   `name:"jobs" default:"0" placeholder:"N" help:"Pictures worked on at the same time; 0 takes the cores seen, quotas respected."`
	MemoryBudget Share `name:"memory-budget" default:"40%" placeholder:"SIZE|PERCENT" help:"Decoded pixels over all jobs, as a size or a share of the memory seen."`
}

// Waiting says what may stand in line, and what is kept to save work.
type Waiting struct {
	Queue         int           `name:"queue" default:"0" placeholder:"N" help:"Requests that may wait for a job; more are refused with 503. 0 takes 64 a job."`
	QueueWait     time.Duration `name:"queue-wait" default:"10s" placeholder:"TIME" help:"Longest wait for a job before 503, while requests come in a burst."`
	OverloadWait  time.Duration `name:"overload-wait" default:"800ms" placeholder:"TIME" help:"Longest wait that is accepted once the line has been longer than that for overload-after."`
	OverloadAfter time.Duration `name:"overload-after" default:"3s" placeholder:"TIME" help:"How long a line may be long before it is an overload and no burst."`
	ReduceEffort  time.Duration `name:"reduce-effort" default:"0s" placeholder:"TIME" help:"Wait from which encoders take less effort where a request leaves it open; 0s never. Such results are somewhat larger, say so in Spillway-Effort, and are kept apart."`
	CacheMemory   Bytes         `name:"cache-memory" default:"64MiB" placeholder:"SIZE" help:"Results kept in memory; 0 keeps none."`
}

// Scaling says how the workers grow and shrink with need.
type Scaling struct {
	WorkersMin    int           `name:"workers-min" default:"1" placeholder:"N" help:"Workers that always live."`
	WorkersMax    int           `name:"workers-max" default:"0" placeholder:"N" help:"Workers there may be; 0 takes one more than jobs. However many there are, no more than jobs decode at the same time."`
	ScaleSignal   string        `name:"scale-signal" default:"wait-time" enum:"wait-time,smoothed-backlog,queue-length" placeholder:"SIGNAL" help:"What is taken for need: wait-time (how long even the luckiest picture waited), smoothed-backlog, or queue-length."`
	ScaleWait     time.Duration `name:"scale-wait" default:"5ms" placeholder:"TIME" help:"How long pictures may wait before there are more workers."`
	ScaleCheck    time.Duration `name:"scale-check" default:"0s" placeholder:"TIME" help:"Time between two looks at the signal; 0s takes 50ms, with queue-length 5s."`
	ScaleCooldown time.Duration `name:"scale-cooldown" default:"0s" placeholder:"TIME" help:"Least time before a change the other way, unless pictures wait for long; 0s takes 2s, with queue-length 30s before any change."`
	KeepIdle      time.Duration `name:"keep-idle" default:"10s" placeholder:"TIME" help:"How long workers stay that are not needed; not with queue-length."`
	RetireGrace   time.Duration `name:"retire-grace" default:"2s" placeholder:"TIME" help:"How long cancelled work may take to end when the server stops."`
}

// Observing says what is told about the work.
type Observing struct {
	LogFormat    string `name:"log-format" default:"auto" enum:"auto,text,json" placeholder:"FORMAT" help:"auto (text on a terminal, JSON elsewhere), text or json."`
	LogLevel     string `name:"log-level" default:"info" enum:"debug,info,warn,error" placeholder:"LEVEL" help:"debug, info, warn or error."`
	OTLPEndpoint string `name:"otlp-endpoint" placeholder:"URL" help:"OpenTelemetry collector to send traces to; the usual OTEL_ settings also work."`
}

// Media gives the limits as the image path takes them.
func (l Limits) Media() media.Limits {
	return media.Limits{
		SourceBytes: int64(l.MaxSourceBytes), Pixels: l.MaxPixels,
		OutputSide: l.MaxOutputSide, OutputBytes: int64(l.MaxOutputBytes),
		Outputs: l.MaxOutputs, Frames: l.MaxFrames, Time: l.TransformTimeout,
		JPEGScans: l.MaxJPEGScans, SVGNodes: l.MaxSVGNodes,
		Metadata: int64(l.MaxMetadataBytes), Page: l.MaxPage,
	}
}
