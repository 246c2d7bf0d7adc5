package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spillway-media/spillway/internal/blob"
	"github.com/spillway-media/spillway/jobs"
)

// JobsConfig is what /v1 is made of.
type JobsConfig struct {
	// Tokens open it; there is at least one.
	Tokens Tokens
	Client JobClient
	Store  JobStore
	// Uploads takes originals in; nil has no /v1/uploads.
	Uploads Uploads
	// Outputs gives what jobs made; nil has no /v1/outputs.
	Outputs Outputs
	// Scaling is the scheduler's desk; nil has no /v1/scaling.
	Scaling ScalingDesk
	// MaxUpload is the largest upload in bytes (64 MiB).
	MaxUpload int64
	// MaxStreams is how many may watch jobs at once (1,000).
	MaxStreams int
	// BodyTimeout ends a request whose body does not arrive: a document within
	// it, an upload that stands still for as long (30 s).
	BodyTimeout time.Duration
}

// JobClient is how jobs come in and are told what to do; *jobs.Client is one.
type JobClient interface {
	Enqueue(ctx context.Context, specs ...jobs.Spec) ([]jobs.Enqueued, error)
	Cancel(ctx context.Context, id jobs.ID, reason string) (jobs.Job, error)
	Retry(ctx context.Context, id jobs.ID) (jobs.Job, error)
}

// JobStore is what can be asked of jobs; every jobs.Store is one.
type JobStore interface {
	jobs.QueryStore
	Checkpoints(ctx context.Context, id jobs.ID, after string, limit int) ([]jobs.Checkpoint, error)
	Workers(ctx context.Context, all bool) ([]jobs.WorkerRow, error)
}

// Uploads keeps originals that clients send; *derive.Uploads is one.
type Uploads interface {
	// Put reads body to its end and keeps at most maxBytes of it. It gives back
	// the body's own errors wrapped; others that are no *media.Error are the
	// store's fault.
	Put(ctx context.Context, body io.Reader, maxBytes int64) (id string, bytes int64, err error)
}

// Outputs gives what jobs made; every blob.Store is one.
type Outputs interface {
	// Get gives what lies under key, which the caller closes, or blob.ErrNotFound.
	Get(ctx context.Context, key string) (io.ReadSeekCloser, blob.Info, error)
}

func (c *JobsConfig) setDefaults() {
	if c.MaxUpload == 0 {
		c.MaxUpload = 64 << 20
	}
	if c.MaxStreams == 0 {
		c.MaxStreams = 1000
	}
	if c.BodyTimeout == 0 {
		c.BodyTimeout = 30 * time.Second
	}
}

func (c *JobsConfig) validate() error {
	var errs []error
	if len(c.Tokens) == 0 {
		errs = append(errs, errors.New("api-token-file: there is no token, so nobody could use /v1"))
	}
	if c.Client == nil || c.Store == nil {
		errs = append(errs, errors.New("jobs: there is no store"))
	}
	if c.MaxUpload < 1 || c.MaxStreams < 1 || c.BodyTimeout < time.Millisecond {
		errs = append(errs, fmt.Errorf("jobs: %d bytes, %d streams or %s are no limits", c.MaxUpload, c.MaxStreams, c.BodyTimeout))
	}
	return errors.Join(errs...)
}
