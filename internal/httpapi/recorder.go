package httpapi

import (
	"io"
	"net/http"
	"time"

	"github.com/spillway-media/spillway/h2"
	"github.com/spillway-media/spillway/internal/media"
)

// recorder is the way to the client. It remembers what was sent and ends an
// answer that the client has stopped taking.
type recorder struct {
	http.ResponseWriter
	control *http.ResponseController
	patience
	watched bool // the connection has a patience of its own, and no deadline is set
	now     func() time.Time

	status  int // 0 until the header went out
	bytes   int64
	began   time.Time     // when the first byte went out; zero until then
	blocked time.Duration // how long the client has been waited for
}

// patience is how slow a client may be: it takes something within a stall
// period, and over the whole answer so many bytes a second (0: any number).
type patience struct {
	stall time.Duration
	rate  int64
}

// left is how much longer a client may be waited for that has taken so many
// bytes and kept us waiting for so long already.
func (p patience) left(bytes int64, blocked time.Duration) time.Duration {
	if p.rate == 0 {
		return p.stall
	}
	earned := float64(bytes) / float64(p.rate) * float64(time.Second)
	if earned >= float64(blocked) { // of many bytes, more than a Duration holds
		return p.stall
	}
	return max(p.stall+time.Duration(earned)-blocked, 0)
}

// writeStep bounds what one stall period has to move, so that a slow client
// is told from one that stands still.
const writeStep = 64 << 10

func newRecorder(w http.ResponseWriter, p patience, now func() time.Time) *recorder {
	rec := &recorder{ResponseWriter: w, control: http.NewResponseController(w), patience: p, now: now}
	// Our own server of HTTP/2 knows for whom an answer waits, its client or
	// the other streams of the connection, which are no fault of the client's.
	// It was told the same patience.
	_, rec.watched = w.(h2.PhaseWriter)
	// A connection may still have the deadline of its last answer.
	rec.setDeadline(time.Time{})
	return rec
}

// setDeadline is for writers that have deadlines; others say so, and need none.
func (rec *recorder) setDeadline(t time.Time) {
	if !rec.watched {
		_ = rec.control.SetWriteDeadline(t)
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (rec *recorder) Unwrap() http.ResponseWriter { return rec.ResponseWriter }

// WriteHeader notes the first final status.
func (rec *recorder) WriteHeader(status int) {
	if rec.status == 0 && status >= 200 {
		rec.status = status
	}
	rec.ResponseWriter.WriteHeader(status)
}

// Write sends p in steps, each with its own deadline. Its errors are the
// client's doing.
func (rec *recorder) Write(p []byte) (int, error) {
	if rec.status == 0 {
		rec.status = http.StatusOK
	}
	written := 0
	for len(p) > 0 {
		step := p[:min(len(p), writeStep)]
		began := rec.arm()
		n, err := rec.ResponseWriter.Write(step)
		written += n
		rec.bytes += int64(n)
		rec.blocked += rec.now().Sub(began)
		if err != nil {
			return written, media.Wrap(media.CodeCancelled, err, "the client stopped taking the answer")
		}
		p = p[n:]
	}
	return written, nil
}

// arm gives the client as long from now as it may still take.
func (rec *recorder) arm() (now time.Time) {
	now = rec.now()
	if rec.began.IsZero() {
		rec.began = now
	}
	rec.setDeadline(now.Add(rec.left(rec.bytes, rec.blocked)))
	return now
}

// flush sends what is buffered; a writer that cannot has nothing buffered.
// Until the next write the client owes nothing: the encoder may take its time,
// and a deadline that passes meanwhile would end an HTTP/2 stream.
func (rec *recorder) flush() {
	began := rec.now()
	_ = rec.control.Flush()
	rec.setDeadline(time.Time{})
	rec.blocked += rec.now().Sub(began)
}

// flushing sends every write on at once: bytes leave as the encoder makes them.
type flushing struct {
	to  io.Writer // rec, or what writes to it
	rec *recorder
	// behind tells that more bytes are there already, with which these may
	// go; nil: they never are.
	behind func(sent int64) bool
	sent   int64
}

func newFlushing(rec *recorder) *flushing { return &flushing{to: rec, rec: rec} }

func (f *flushing) Write(p []byte) (int, error) {
	n, err := f.to.Write(p)
	if f.sent += int64(n); f.behind == nil || !f.behind(f.sent) {
		f.rec.flush()
	}
	return n, err
}

var _ io.Writer = (*flushing)(nil)
