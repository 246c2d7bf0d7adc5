package transform

import (
	"fmt"
	"io"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/spool"
)

// trial holds back a result until it is known whether the original, without
// its private parts, is the smaller answer: a client that asked for no change
// must not get more bytes than there were.
type trial struct {
	spool *spool.Spool
	made  Made
}

// tryFirst gives a batch its trial when its one picture could as well stay
// what it is.
func (s *Service) tryFirst(b *batch) *trial {
	if len(b.flights) != 1 || !b.plan.KeepsOriginal() {
		return nil
	}
	return &trial{spool: s.spools.New(s.cfg.Limits.OutputBytes)}
}

func (t *trial) begin(made Made) io.Writer {
	t.made = made
	return t.spool
}

func (t *trial) release() {
	if t != nil {
		t.spool.Release()
	}
}

// settle writes the smaller of both into the output.
func (t *trial) settle(to *Output, src []byte, info media.Info) error {
	if err := t.spool.Finish(nil); err != nil {
		return fmt.Errorf("hold result back: %w", err)
	}
	best, err := t.spool.Bytes()
	if err != nil {
		return fmt.Errorf("hold result back: %w", err)
	}
	if kept, ok := media.Strip(src, info); ok && len(kept) <= len(best) {
		best, t.made.Quality = kept, 0 // nobody knows what it was
	}
	if !to.start(t.made) {
		return nil // its time was up
	}
	_, err = to.spool.Write(best)
	return err
}
