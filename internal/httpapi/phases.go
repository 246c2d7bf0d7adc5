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

	holds bool   // a preview that is being made
	held  []byte // of it, so far
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

// Write cuts data where phases end: a frame never holds bytes of two.
func (p *phased) Write(data []byte) (written int, err error) {
	for written < len(data) && err == nil {
		rest := data[written:]
		length, phase := p.cutter.Next(rest)
		n := 0
		if err = p.enter(phase); err == nil {
			n, err = p.put(rest[:length])
		}
		written += n
		p.sent += int64(n)
	}
	return written, err
}

// enter goes on to another phase.
func (p *phased) enter(phase priority.Phase) error {
	if phase == p.phase {
		return nil
	}
	if err := p.release(int64(len(p.held))); err != nil {
		return err
	}
	p.phase = phase
	switch {
	case p.sizes != nil:
		p.mark(p.sizes.Of(phase))
	case phase == priority.Preview:
		p.holds = true
	default:
		p.mark(progressive.Expected(phase, p.sent))
	}
	return nil
}

// put sends what is of the present phase. A preview that is being made is held
// until all of it is there, if it fits a frame: in one piece a browser paints it
// at once, where it would take its time for the second of two.
func (p *phased) put(data []byte) (int, error) {
	if !p.holds {
		return p.to.Write(data)
	}
	p.held = append(p.held, data...)
	if len(p.held) <= priority.Frame {
		return len(data), nil
	}
	return len(data), p.release(-1)
}

// release sends what is held; size is that of the whole preview.
func (p *phased) release(size int64) error {
	if !p.holds {
		return nil
	}
	p.holds = false
	p.mark(size)
	_, err := p.to.Write(p.held)
	p.held = nil
	return err
}

// end sends what is left when the picture ends within its preview.
func (p *phased) end() error { return p.release(int64(len(p.held))) }

// mark says what is written from now on.
func (p *phased) mark(size int64) {
	// A server that knows no phases sends everything as body, in full.
	_ = h2.SetPhase(p.to, p.phase, size)
}
