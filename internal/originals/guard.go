package originals

import (
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/spillway-media/spillway/internal/media"
)

// recovered is deferred where foreign code runs on goroutines that nobody
// recovers for: its panic costs those who wait for this one original, not the
// process.
func (s *Store) recovered(err *error) {
	if p := recover(); p != nil {
		s.log.Error("source panicked", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
		*err = media.Wrap(media.CodeSourceFailed, fmt.Errorf("panic: %v", p), "The source could not be read.")
	}
}
