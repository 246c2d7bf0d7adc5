package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/spillway-media/spillway/internal/media"
)

// outcome is what became of one input; it is its JSON line as well.
type outcome struct {
	Input   string     `json:"input"`
	OK      bool       `json:"ok"`
	Outputs []madeFile `json:"outputs,omitempty"`
	Code    media.Code `json:"code,omitempty"`
	Error   string     `json:"error,omitempty"`
	Seconds float64    `json:"seconds,omitempty"`
}

// madeFile is one result.
type madeFile struct {
	Path   string       `json:"path"`
	Format media.Format `json:"format"`
	Width  int          `json:"width"`
	Height int          `json:"height"`
	Bytes  int64        `json:"bytes"`
}

func failed(path string, err error) outcome {
	o := outcome{Input: path, Error: explain(err)}
	if fault, ok := errors.AsType[*media.Error](err); ok {
		o.Code = fault.Code
	}
	return o
}

// summary closes a report.
type summary struct {
	Files   int     `json:"files"`
	OK      int     `json:"ok"`
	Failed  int     `json:"failed"`
	Results int     `json:"results"`
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
}

// String is one line for a person.
func (s summary) String() string {
	text := fmt.Sprintf("%d of %s converted, %d failed", s.OK, count(s.Files, "file"), s.Failed)
	if s.Results > 0 {
		text += fmt.Sprintf(": %s, %s", count(s.Results, "result"), sizeText(s.Bytes))
	}
	return text + fmt.Sprintf(", %.1f s", s.Seconds)
}

func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// sizeText writes a size with one digit after the point.
func sizeText(bytes int64) string {
	if bytes < 1024 {
		return count(int(bytes), "byte")
	}
	size, units := float64(bytes)/1024, "KMGT"
	for size >= 1024 && len(units) > 1 {
		size, units = size/1024, units[1:]
	}
	return fmt.Sprintf("%.1f %ciB", size, units[0])
}

// report tells of files as they are done: a bar on a terminal, JSON lines
// when asked for, otherwise the faults and the end only.
type report struct {
	json   bool
	began  time.Time
	out    io.Writer // results
	faults io.Writer // above the bar, when there is one
	bars   *mpb.Progress
	bar    *mpb.Bar

	mu    sync.Mutex
	total summary
}

func newReport(s *session, asJSON bool, files int) *report {
	r := &report{json: asJSON, began: time.Now(), out: s.Stdout, faults: s.Stderr}
	if asJSON || files == 0 || !terminal(s.Stderr) {
		return r
	}
	r.bars = mpb.New(mpb.WithOutput(s.Stderr), mpb.WithWidth(40))
	r.faults = r.bars
	r.bar = r.bars.AddBar(int64(files),
		mpb.PrependDecorators(decor.CountersNoUnit("%d of %d files")),
		mpb.AppendDecorators(
			decor.AverageSpeed(0, "%.1f/s "),
			decor.OnComplete(decor.AverageETA(decor.ET_STYLE_GO, decor.WC{W: 8}), "done"),
		),
	)
	return r
}

// add tells of one file.
func (r *report) add(o outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total.Files++
	r.total.Results += len(o.Outputs)
	for _, file := range o.Outputs {
		r.total.Bytes += file.Bytes
	}
	if o.OK {
		r.total.OK++
	} else {
		r.total.Failed++
	}
	switch {
	case r.json:
		_ = json.NewEncoder(r.out).Encode(o)
	case !o.OK:
		_, _ = fmt.Fprintf(r.faults, "%s: %s\n", shown(o.Input), o.Error)
	}
	if r.bar != nil {
		r.bar.Increment()
	}
}

// shown quotes a name that a terminal would obey rather than show.
func shown(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) {
		return strconv.Quote(name)
	}
	return name
}

// close ends the bar, tells the sum, and gives the error of the command.
func (r *report) close(ctx context.Context) error {
	if r.bar != nil {
		r.bar.Abort(false) // no effect on a bar that is full
		r.bars.Wait()
	}
	r.total.Seconds = time.Since(r.began).Seconds()
	if r.json {
		_ = json.NewEncoder(r.out).Encode(map[string]summary{"summary": r.total})
	} else {
		_, _ = fmt.Fprintln(r.out, r.total)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("convert: %w", context.Canceled)
	}
	if r.total.Failed > 0 {
		return errSilent
	}
	return nil
}
