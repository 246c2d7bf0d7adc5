package media

import (
	"fmt"
	"time"
)

// Code is a stable, machine-readable name of a fault. HTTP statuses are
// mapped from codes in one table at the edge, never here.
type Code string

// The codes the image path can answer with.
const (
	CodeInvalidParameter Code = "invalid-parameter"
	CodeUnsupported      Code = "unsupported-format" // not an image we read
	CodeUnwritable       Code = "unsupported-output" // known format, this build cannot write it
	CodeDecodeFailed     Code = "decode-failed"      // broken, truncated
	CodeEncodeFailed     Code = "encode-failed"      // our fault
	CodePixels           Code = "limit-pixels"       // pixels x frames
	CodeFrames           Code = "limit-frames"
	CodeScans            Code = "limit-jpeg-scans"
	CodeSVG              Code = "limit-svg"      // nodes, nesting, references, filters
	CodeMetadata         Code = "limit-metadata" // inflated profile or text chunks
	CodePage             Code = "limit-page"     // document page out of range or too large
	CodeOutputSide       Code = "limit-output-side"
	CodeOutputBytes      Code = "limit-output-bytes"
	CodeMemory           Code = "limit-memory" // one job alone exceeds the budget
	CodeTimeout          Code = "transform-timeout"
	CodeSourceTooLarge   Code = "source-too-large"
	CodeSourceNotFound   Code = "source-not-found"
	CodeSourceForbidden  Code = "source-forbidden" // host, prefix or private network
	CodeSourceFailed     Code = "source-failed"
	CodeSourceTimeout    Code = "source-timeout"
	// CodeSourceUnavailable is an origin that is not even asked, because it
	// failed a moment ago or too many wait for it already.
	CodeSourceUnavailable Code = "source-unavailable"
	CodeOverloaded        Code = "overloaded"
	CodeCancelled         Code = "cancelled" // nobody waits any more
)

// Error is a fault a client can be told. Detail is a full sentence that names
// what was wrong, its value and what is allowed; it holds no secret and no
// text of a library. Cause is for the log only.
type Error struct {
	Code   Code
	Param  string // the parameter at fault, where one is
	Detail string
	Cause  error
	// RetryAfter is how long whoever asked should wait before asking again;
	// 0 when the fault itself does not know.
	RetryAfter time.Duration
}

// Error implements error; the text is for logs.
func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Detail, e.Cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Detail)
}

// Unwrap gives the cause to errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Cause }

// Errorf makes an Error of code whose Detail is formatted.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// About names the parameter at fault and gives back e.
func (e *Error) About(param string) *Error {
	e.Param = param
	return e
}

// Wrap makes an Error of code with a cause for the log.
func Wrap(code Code, cause error, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...), Cause: cause}
}
