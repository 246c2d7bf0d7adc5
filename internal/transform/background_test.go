package transform_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/transform"
)

// later asks for a picture that nobody waits for at a screen.
func later(width int, format media.Format) transform.Job {
	j := wide(width)
	j.Request.Format, j.Background = format, true
	return j
}

func TestWorkInTheBackground(t *testing.T) {
	t.Run("all formats of a picture come of one fetch and one decode", inBubble(func(t *testing.T) {
		b := newBench(t, nil)
		jobs := []transform.Job{later(100, media.WebP), later(200, media.AVIF), later(100, media.JPEG), later(200, media.WebP)}
		results, err := b.DoAll(t.Context(), jobs)
		if err != nil {
			t.Fatal(err)
		}
		for _, res := range results {
			if err := res.Outputs[0].Whole(t.Context()); err != nil {
				t.Error(err)
			}
			res.Close()
		}
		if runs := b.engine.runs.Load(); runs != 1 || b.source.reads != 1 {
			t.Errorf("%d decodes of %d fetches", runs, b.source.reads)
		}
	}))
	t.Run("others neither join it nor share its decode", inBubble(func(t *testing.T) {
		b, g := newGated(t, func(c *transform.Config) { c.Background = 1 })
		far := []<-chan answer{ask(t.Context(), b, later(100, media.JPEG)), ask(t.Context(), b, later(120, media.JPEG))}
		synctest.Wait()
		near := wide(100)
		near.Request.Format = media.JPEG
		soon := ask(t.Context(), b, near)
		synctest.Wait()
		if runs := b.engine.runs.Load(); runs != 2 {
			t.Errorf("%d runs; one in the background and one at once were to be", runs)
		}
		close(g.let)
		for _, told := range append(far, soon) {
			if a := <-told; a.err != nil || a.res.Joined {
				t.Errorf("joined %v, %v", a.res != nil && a.res.Joined, a.err)
			}
		}
	}))
	t.Run("it joins what others have asked for", inBubble(func(t *testing.T) {
		b, g := newGated(t, nil)
		near := wide(100)
		near.Request.Format = media.JPEG
		soon := ask(t.Context(), b, near)
		synctest.Wait()
		far := ask(t.Context(), b, later(100, media.JPEG))
		synctest.Wait()
		close(g.let)
		if a := <-far; a.err != nil || !a.res.Joined {
			t.Errorf("in the background: %+v", a)
		}
		if a := <-soon; a.err != nil {
			t.Error(a.err)
		}
	}))
	t.Run("a slot is left for whoever comes, and nobody is refused for a long row of it", inBubble(func(t *testing.T) {
		b, g := newGated(t, func(c *transform.Config) { c.Background, c.QueueWait = 1, 2*time.Second })
		var far []<-chan answer
		for i := range 200 {
			j := later(10+i, media.JPEG)
			j.Request.MaxBytes = 1000 // so that each has a decode of its own
			far = append(far, ask(t.Context(), b, j))
		}
		synctest.Wait()
		soon := ask(t.Context(), b, wide(300))
		synctest.Wait()
		if runs := b.engine.runs.Load(); runs != 2 {
			t.Errorf("%d at work: one in the background and the one that came were to be", runs)
		}
		time.Sleep(10 * time.Second) //nolint:forbidigo // the bubble's clock, not the machine's
		if s := b.Stats(); s.Refused != 0 || s.Strict {
			t.Errorf("%d were refused, strict %v", s.Refused, s.Strict)
		}
		close(g.let)
		for _, told := range append(far, soon) {
			if a := <-told; a.err != nil {
				t.Fatal(a.err)
			}
		}
	}))
	t.Run("it is told that the server is busy when minutes have passed", inBubble(func(t *testing.T) {
		b, g := newGated(t, func(c *transform.Config) { c.Background, c.Limits.Time = 1, 10*time.Minute })
		begun := ask(t.Context(), b, later(100, media.JPEG))
		synctest.Wait()
		j := later(110, media.JPEG)
		j.Request.MaxBytes = 1000
		from := time.Now()
		a := <-ask(t.Context(), b, j)
		wantCode(t, a.err, media.CodeOverloaded)
		if waited := time.Since(from); waited != 5*time.Minute {
			t.Errorf("after %s", waited)
		}
		close(g.let)
		if a := <-begun; a.err != nil {
			t.Error(a.err)
		}
	}))
}
