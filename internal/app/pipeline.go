package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spillway-media/spillway/elastic"
	"github.com/spillway-media/spillway/internal/app/settings"
	"github.com/spillway-media/spillway/internal/machine"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/spool"
	"github.com/spillway-media/spillway/internal/transform"
	"github.com/spillway-media/spillway/internal/vips"
)

// assumedMemory stands in where the machine does not tell how much it has.
const assumedMemory = 2 << 30

// pipeline is what makes pictures, without any HTTP.
type pipeline struct {
	spools  *spool.Pool
	engine  *vips.Engine
	service *transform.Service
}

// newPipeline builds it for originals that sources opens.
func newPipeline(c settings.Config, facts machine.Facts, sources source.Opener, stores transform.Stores, log *slog.Logger) (*pipeline, error) {
	spools, err := spool.NewPool(spool.Config{
		Dir: c.SpoolDir, MemoryAll: int64(c.SpoolMemory), DiskAll: int64(c.SpoolDisk),
	})
	if err != nil {
		return nil, fmt.Errorf("make spools: %w", err)
	}
	engine, err := vips.New(vips.Config{AllowPDF: c.AllowPDF, Helper: c.Helper.Command, HelperEnv: c.Helper.Env})
	if err != nil {
		return nil, fmt.Errorf("start codecs: %w", err)
	}
	service, err := transform.New(transformConfig(c, facts), engine, sources, spools, stores, log)
	if err != nil {
		return nil, err
	}
	return &pipeline{spools: spools, engine: engine, service: service}, nil
}

// transformConfig fills in from the machine what the settings leave open.
func transformConfig(c settings.Config, facts machine.Facts) transform.Config {
	memory := facts.Memory
	if memory == 0 {
		memory = assumedMemory
	}
	jobs := c.Jobs
	if jobs == 0 {
		jobs = facts.Cores()
	}
	config := transform.DefaultConfig(jobs, memory)
	config.Limits = c.Media()
	if c.Queue > 0 {
		config.Queue = c.Queue
	}
	config.QueueWait, config.OverloadWait, config.OverloadAfter = c.QueueWait, c.OverloadWait, c.OverloadAfter
	config.ReduceAfter = c.ReduceEffort
	config.Background = cmp.Or(c.BackgroundJobs, max(1, jobs-1))
	config.Scale = scale(c.Scaling)
	// Whoever waits for a place at its origin counts here, too; the bounds of
	// what is really fetched are the origins'.
	config.Originals.Fetches = 8 * c.SourceFetches
	config.Originals.Memory, config.Originals.Fresh = int64(c.SourceCacheMemory), c.SourceFresh
	config.Originals.WhileRevalidate, config.Originals.IfError = c.StaleWhileRevalidate, c.StaleIfError
	config.Originals.Scope = sourceConfig(c).Scope()
	config.MemoryBudget = c.MemoryBudget.Of(memory)
	config.CacheMemory, config.Hold = int64(c.CacheMemory), int64(c.OutputHold)
	build := ReadBuild()
	config.Version = build.Version + " " + build.Revision + " " + CodecVersion()
	return config
}

func scale(s settings.Scaling) transform.Scale {
	signal, _ := elastic.ParseSignal(s.ScaleSignal) // settings allow no other names
	return transform.Scale{
		MinWorkers: s.WorkersMin, MaxWorkers: s.WorkersMax, Signal: signal, TargetWait: s.ScaleWait,
		Check: s.ScaleCheck, Cooldown: s.ScaleCooldown, KeepIdle: s.KeepIdle, RetireGrace: s.RetireGrace,
	}
}

// sourceConfig says what may be opened.
func sourceConfig(c settings.Config) source.Config {
	retries := c.SourceRetries
	if retries == 0 {
		// Zero is the other package's word for its default, here and below.
		retries = -1
	}
	minRate := int64(c.SourceMinRate)
	if minRate == 0 {
		minRate = -1
	}
	return source.Config{
		Root: c.SourceRoot, Allow: c.AllowSource, AllowPrivate: c.AllowPrivateSources,
		MaxBytes: int64(c.MaxSourceBytes), ConnectTimeout: c.SourceConnectTimeout,
		HeaderTimeout: c.SourceHeaderTimeout, IdleTimeout: c.SourceIdleTimeout,
		TotalTimeout: c.SourceTimeout, Retries: retries, MinRate: minRate,
		Fetches: c.SourceFetches, FetchesPerOrigin: c.SourceFetchesEach, NoBreaker: !c.SourceBreaker,
		UserAgent:          "Spillway/" + ReadBuild().Version,
		HonourCacheControl: c.HonourOriginCache,
		S3:                 s3Config(c),
	}
}

// s3Config is how object stores are reached, whatever lies in them.
func s3Config(c settings.Config) source.S3 {
	return source.S3{
		Endpoint: c.S3Endpoint, Region: c.S3Region, PathStyle: c.S3PathStyle,
		AccessKey: c.S3AccessKey, SecretKey: c.S3SecretKey,
	}
}

// partNames are the keys of parts that are called otherwise in the settings.
var partNames = map[string]string{"fetches": "source-fetches", "hold": "output-hold"}

// Check finds the faults of settings without starting anything: those of
// Validate, and those that only the parts know, such as presets that no
// request could mean. What Validate has named is not told again.
func Check(c settings.Config) error {
	faults := settings.Faults(c.Validate())
	told := map[string]bool{}
	for _, fault := range faults {
		told[fault.Key] = true
	}
	parts := errors.Join(sourceConfig(c).Validate(), edgeFaults(c), transformConfig(c, machine.Seen()).Validate())
	for _, fault := range settings.Faults(parts) {
		fault.Key = cmp.Or(partNames[fault.Key], fault.Key)
		if !told[fault.Key] {
			faults = append(faults, fault)
		}
	}
	return settings.Join(faults)
}

// Local is the pipeline over files that the user of the command line named.
type Local struct{ *pipeline }

// NewLocal builds it. Nothing is cached, since each file comes once, and
// nobody is turned away, since whoever waits is the same user.
func NewLocal(c settings.Config, log *slog.Logger) (*Local, error) {
	c.CacheMemory, c.SourceCacheMemory = 0, 0
	c.Queue, c.QueueWait, c.OverloadWait = 1024, time.Hour, time.Hour
	// All files are there from the start, so there is no need to find out.
	c.WorkersMin = transformConfig(c, machine.Seen()).Jobs
	c.WorkersMax = c.WorkersMin
	p, err := newPipeline(c, machine.Seen(), localFiles{}, transform.Stores{}, log)
	if err != nil {
		return nil, err
	}
	return &Local{p}, nil
}

// Run keeps its workers; it blocks until Close.
func (l *Local) Run(ctx context.Context) error { return l.service.Run(context.WithoutCancel(ctx)) }

// Jobs is how many files are worth working on at once.
func (l *Local) Jobs() int { return l.service.Stats().Jobs }

// Do makes the pictures of a job whose Ref is a path.
func (l *Local) Do(ctx context.Context, job transform.Job) (*transform.Result, error) {
	return l.service.Do(ctx, job)
}

// Close stops what still runs and gives everything back.
func (l *Local) Close() {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	// Results are closed by now, so there is nothing left to wait for.
	_ = l.service.Shutdown(ended)
	l.spools.Close()
}
