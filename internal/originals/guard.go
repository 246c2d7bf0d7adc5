package originals

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
)

// guarded opens on a goroutine that nobody recovers for: a fault of an opener
// costs those who wait for this one original, not the process.
func (s *Store) guarded(ctx context.Context, open func(context.Context) (*source.Object, error)) (object *source.Object, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("source panicked", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			object, err = nil, media.Wrap(media.CodeSourceFailed, fmt.Errorf("panic: %v", p), "The source could not be read.")
		}
	}()
	return open(ctx)
}
