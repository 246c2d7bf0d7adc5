package httpapi

import (
	"context"
	"time"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/transform"
)

// Alone stands where a process makes no pictures and only has a listener for
// operators: it is ready as the function says. Metrics leave pictures out.
type Alone func(now time.Time) error

func noPictures() error { return media.Errorf(codeNotFound, "This process makes no pictures.") }

// Do implements Transformer, and so do the others.
func (Alone) Do(context.Context, transform.Job) (*transform.Result, error) { return nil, noPictures() }

// DoAll refuses.
func (Alone) DoAll(context.Context, []transform.Job) ([]*transform.Result, error) {
	return nil, noPictures()
}

// Info refuses.
func (Alone) Info(context.Context, string, func(string, time.Time) (string, bool)) (*transform.Details, error) {
	return nil, noPictures()
}

// Stats has nothing to tell.
func (Alone) Stats() transform.Stats { return transform.Stats{} }

// Ready asks the function.
func (a Alone) Ready(now time.Time) error { return a(now) }

// RetryAfter is of no use.
func (Alone) RetryAfter() time.Duration { return time.Second }
