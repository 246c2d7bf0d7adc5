package source

import (
	"errors"
	"net/http"

	"github.com/spillway-media/spillway/internal/media"
)

// trouble marks a cause as the network's or the origin's momentary trouble,
// as opposed to a clear answer that was not the original.
type trouble struct{ error }

func (t trouble) Unwrap() error { return t.error }

// Unavailable tells whether err, from Open, OpenIf or a Body, means that the
// origin cannot serve at the moment: a fault of the network, a timeout, a 5xx,
// a 429, or an origin that is not asked at all for now. It is what
// stale-if-error is for; a 404 or a refusal is not.
func Unavailable(err error) bool {
	var fault *media.Error
	if !errors.As(err, &fault) {
		return false
	}
	switch fault.Code {
	case media.CodeSourceUnavailable, media.CodeSourceTimeout:
		return true
	case media.CodeSourceFailed:
		var status statusError
		if errors.As(fault.Cause, &status) {
			return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests
		}
		var marked trouble
		return errors.As(fault.Cause, &marked)
	}
	return false
}
