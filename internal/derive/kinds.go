package derive

import (
	"context"
	"log/slog"
	"time"

	"github.com/spillway-media/spillway/internal/blob"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/transform"
	"github.com/spillway-media/spillway/jobs"
)

// The types.
const (
	TypeImage = "image.derive"
	TypeBulk  = "bulk.derive"
)

// bulkLimit is the time of one attempt at thousands of pictures, each of which
// has limits of its own. An attempt that ends at it has failed, however far it got.
const bulkLimit = 24 * time.Hour

// Kinds are the types of this package as they are asked for.
func Kinds(limits media.Limits) jobs.Kinds {
	return jobs.NewKinds(
		jobs.Kind{Type: TypeImage, Queue: "images", Priority: jobs.DefaultPriority, Check: func(s *jobs.Spec) error { return checkImage(s, limits) }},
		jobs.Kind{Type: TypeBulk, Queue: "bulk", Priority: jobs.BulkPriority, WorkLimit: bulkLimit, Checkpointable: true,
			Check: func(s *jobs.Spec) error { return checkBulk(s, limits) }},
	)
}

// Images makes pictures: transform.Service.
type Images interface {
	DoAll(ctx context.Context, all []transform.Job) ([]*transform.Result, error)
}

// Lister lists originals below a prefix of the source root: source.Router.
type Lister interface {
	// List gives up to limit keys after after, in order of their bytes.
	List(ctx context.Context, prefix, after string, limit int) ([]string, error)
}

// Warmer makes the image server have a picture ready.
type Warmer interface {
	// Warm asks for the pictures of one original as the image server's
	// clients will. Errors are *media.Error.
	Warm(ctx context.Context, picture Picture) ([]Output, error)
}

// Config is what the handlers work with.
type Config struct {
	Limits media.Limits
	Images Images
	Blobs  blob.Store
	Lister Lister
	// Warmer is for into=cache; nil fails such jobs.
	Warmer Warmer
	// TempDir is for reports until they are whole, the system's own when empty.
	TempDir string
	Log     *slog.Logger
}

// Handlers do the jobs that Kinds lists.
func Handlers(cfg Config) map[string]jobs.Handler {
	return map[string]jobs.Handler{TypeImage: &imageHandler{cfg}, TypeBulk: &bulkHandler{cfg}}
}
