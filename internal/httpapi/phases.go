package httpapi

import (
	"fmt"
	"io"

	"github.com/spillway-media/spillway/h2"
	"github.com/spillway-media/spillway/h2/priority"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/progressive"
)

// marked tells whether the phases of a picture are told to the connection: of
// JPEG always, of other formats where that was asked for. Only HTTP/2 has other
// pictures on the same connection to wait for.
func (x *exchange) marked(w *wish, format media.Format) bool {
	return x.r.ProtoMajor == 2 && (format == media.JPEG || w.request.Encoder == media.EncodeProgress)
}

// phased writes a picture and says what its bytes are good for.
type phased struct {
	to     *recorder
	cutter *progressive.Cutter
	sizes  *progressive.Sizes // nil while the picture is being made
	phase  priority.Phase     // of what was written last; Body at first, as a stream begins
	sent   int64
}

// newPhased is for a picture that is still being made.
func newPhased(to *recorder, format media.Format) *phased {
	return &phased{to: to, cutter: progressive.NewCutter(string(format), -1)}
}

// newPhasedStored is for a picture that is there whole. It leaves stored at its
// beginning.
func newPhasedStored(to *recorder, format media.Format, stored io.ReadSeeker, size int64) (*phased, error) {
	sizes, err := progressive.MeasureReader(string(format), stored, size)
	if err != nil {
		return nil, fmt.Errorf("measure a stored picture: %w", err)
	}
	if _, err := stored.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("seek in a stored picture: %w", err)
	}
	return &phased{to: to, cutter: progressive.NewCutter(string(format), size), sizes: &sizes}, nil
}

// Write cuts p where phases end: a frame never holds bytes of two.
func (p *phased) Write(data []byte) (written int, err error) {
	for written < len(data) && err == nil {
		var n int
		rest := data[written:]
		length, phase := p.cutter.Next(rest)
		p.mark(phase)
		n, err = p.to.Write(rest[:length])
		written += n
		p.sent += int64(n)
	}
	return written, err
}

// mark says so when another phase begins.
func (p *phased) mark(phase priority.Phase) {
	if phase == p.phase {
		return
	}
	p.phase = phase
	size := progressive.Expected(phase, p.sent)
	if p.sizes != nil {
		size = p.sizes.Of(phase)
	}
	// A server that knows no phases sends everything as body, in full.
	_ = h2.SetPhase(p.to, phase, size)
}
