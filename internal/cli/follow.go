package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/spillway-media/spillway/jobs"
)

// following is how a job that is waited for is shown.
type following struct {
	bar  bool // its progress, on the side of the faults
	json bool // its end as a line of JSON
	// outputs says where what it made is; empty where nobody knows.
	outputs string
}

// follow waits for a job's end, shows it, and fails when it did not succeed.
func follow(ctx context.Context, s *session, d desk, id jobs.ID, how following) error {
	show := newProgress(s, how)
	job, err := d.Follow(ctx, id, show.add)
	show.close()
	if err != nil {
		if errors.Is(err, context.Canceled) || ctx.Err() != nil {
			// The job goes on without whoever waited for it.
			_, _ = fmt.Fprintf(s.Stderr, "spillway: job %s goes on; watch it again by: spillway jobs watch %s\n", id, id)
			return toldError{fmt.Errorf("wait for job %s: %w", id, context.Canceled)}
		}
		return err
	}
	if how.json {
		err = writeLine(s.Stdout, job)
	} else {
		err = writeEnd(s.Stdout, job, how.outputs)
	}
	if err == nil && job.State != jobs.Succeeded {
		return endedError{job.State}
	}
	return err
}

// progress shows how far a job is: as a bar on a terminal, else as a line for
// each change.
type progress struct {
	out  io.Writer // nil shows nothing
	last string
	bars *mpb.Progress
	bar  *mpb.Bar
	note string // of the bar, which is drawn by another goroutine
	text chan string
}

func newProgress(s *session, how following) *progress {
	p := &progress{}
	switch {
	case !how.bar:
	case !terminal(s.Stderr):
		p.out = s.Stderr
	default:
		p.text = make(chan string, 1)
		p.bars = mpb.New(mpb.WithOutput(s.Stderr), mpb.WithWidth(40))
		p.bar = p.bars.AddBar(0,
			mpb.PrependDecorators(decor.Any(p.title), decor.CountersNoUnit(" %d of %d")),
			mpb.AppendDecorators(decor.OnComplete(decor.AverageETA(decor.ET_STYLE_GO, decor.WC{W: 8}), "done")),
		)
	}
	return p
}

// title is called by the bar's own goroutine.
func (p *progress) title(decor.Statistics) string {
	select {
	case p.note = <-p.text:
	default:
	}
	return p.note
}

// add is told of every change.
func (p *progress) add(job jobs.Document) {
	switch {
	case p.bar != nil:
		p.draw(job)
	case p.out != nil:
		if line := progressText(job); line != p.last {
			p.last = line
			_, _ = fmt.Fprintln(p.out, line)
		}
	}
}

func (p *progress) draw(job jobs.Document) {
	title := fmt.Sprintf("job %s %s", job.ID, job.State)
	if job.Progress.Note != "" {
		title += ": " + shown(job.Progress.Note)
	}
	select {
	case <-p.text: // the bar did not come to show the last one
	default:
	}
	p.text <- title
	total := job.Progress.Total
	if job.State == jobs.Succeeded {
		total = max(total, 1)
		p.bar.SetTotal(total, false)
		p.bar.SetCurrent(total)
		p.bar.SetTotal(total, true)
		return
	}
	p.bar.SetTotal(total, false)
	p.bar.SetCurrent(min(job.Progress.Done, max(total-1, 0)))
}

// close ends the bar.
func (p *progress) close() {
	if p.bar != nil {
		p.bar.Abort(false) // no effect on a bar that is full
		p.bars.Wait()
	}
}

// progressText is one line of a job that goes on.
func progressText(job jobs.Document) string {
	text := fmt.Sprintf("job %s %s", job.ID, job.State)
	if p := job.Progress; p.Total > 0 {
		text += fmt.Sprintf(" %d of %d", p.Done, p.Total)
	} else if p.Done > 0 {
		text += fmt.Sprintf(" %d", p.Done)
	}
	if job.Progress.Note != "" {
		text += ": " + shown(job.Progress.Note)
	}
	if job.State == jobs.Queued && job.Reason != "" {
		text += " (" + shown(job.Reason) + ")"
	}
	return text
}

// writeEnd tells how a job ended, what it made, and where that is.
func writeEnd(w io.Writer, job jobs.Document, outputs string) error {
	line := fmt.Sprintf("job %s %s", job.ID, job.State)
	if !job.StartedAt.IsZero() && !job.FinishedAt.IsZero() {
		line += fmt.Sprintf(" after %.1fs", job.FinishedAt.Sub(job.StartedAt).Seconds())
	}
	if job.Reason != "" {
		line += ": " + shown(job.Reason)
		if job.Code != "" && job.Code != string(job.State) {
			line += " (" + shown(job.Code) + ")"
		}
	}
	line += resultText(job.Result)
	if outputs != "" && bytes.Contains(job.Result, []byte(`"key":`)) {
		line += "\n  " + outputs
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

// resultText is the pictures that a result names, one a line, or what else it
// has that fits on a line.
func resultText(result json.RawMessage) string {
	var made struct {
		Outputs []struct {
			Key, Format   string
			Width, Height int
			Bytes         int64
		}
	}
	if json.Unmarshal(result, &made) == nil && len(made.Outputs) > 0 {
		var lines strings.Builder
		for _, o := range made.Outputs {
			fmt.Fprintf(&lines, "\n  %s  %dx%d %s, %s", shown(o.Key), o.Width, o.Height, shown(o.Format), sizeText(o.Bytes))
		}
		return lines.String()
	}
	if text := string(result); text != "" && text != "null" && text != "{}" {
		return "\n  " + shown(text)
	}
	return ""
}

// writeLine is JSON on one line, as programs read it that follow a stream.
func writeLine(w io.Writer, value any) error { return json.NewEncoder(w).Encode(value) }
