package simulate

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// The columns of a trace: at and seconds have to be there.
var columns = []string{"at", "queue", "priority", "seconds", "estimated_seconds", "checkpointable", "failed"}

// mostSeconds bounds a service time, and a time since the beginning: ten years.
const mostSeconds = 10 * 365 * 24 * 3600

// CSV reads a trace from a file with a line of column names: at (RFC 3339, or
// seconds since any beginning), queue (the one given here), priority (5),
// seconds (how long it ran), estimated_seconds (the same), checkpointable and
// failed (false). Other columns are passed over. open is called for each reading.
func CSV(open func() (io.ReadCloser, error), queue string) Trace {
	return func(yield func(fleet.PastJob, error) bool) {
		file, err := open()
		if err != nil {
			yield(fleet.PastJob{}, err)
			return
		}
		defer file.Close()
		r, err := newReader(file, queue)
		for err == nil {
			var j fleet.PastJob
			if j, err = r.next(); err == nil && !yield(j, nil) {
				return
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(fleet.PastJob{}, err)
		}
	}
}

// reader is one reading of a file.
type reader struct {
	lines *csv.Reader
	at    [7]int // where each of columns is in a line; -1 nowhere
	queue string
	names map[string]string // of queues, so that a line need not make its own
}

func newReader(from io.Reader, queue string) (*reader, error) {
	r := &reader{lines: csv.NewReader(from), queue: queue, names: map[string]string{}}
	r.lines.ReuseRecord = true
	header, err := r.lines.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty; its first line must name the columns")
	}
	if err != nil {
		return nil, fmt.Errorf("read the line of column names: %w", err)
	}
	for i, name := range columns {
		r.at[i] = slices.IndexFunc(header, func(h string) bool {
			return strings.EqualFold(strings.TrimSpace(strings.TrimPrefix(h, "\ufeff")), name)
		})
		if r.at[i] < 0 && (name == "at" || name == "seconds") {
			return nil, fmt.Errorf("there is no column %q: the first line must name at and seconds, and may name %s",
				name, "queue, priority, estimated_seconds, checkpointable and failed")
		}
	}
	return r, nil
}

// next is the job of the next line; io.EOF: there is none.
func (r *reader) next() (fleet.PastJob, error) {
	line, err := r.lines.Read()
	if err != nil {
		return fleet.PastJob{}, err
	}
	var j fleet.PastJob
	for i, name := range columns {
		text := ""
		if r.at[i] >= 0 {
			text = line[r.at[i]]
		}
		if err := r.set(&j, name, text); err != nil {
			number, _ := r.lines.FieldPos(0)
			return fleet.PastJob{}, fmt.Errorf("line %d: %s: %w", number, name, err)
		}
	}
	return j, nil
}

func (r *reader) set(j *fleet.PastJob, column, text string) (err error) {
	switch column {
	case "at":
		j.At, err = timeOf(text)
	case "queue":
		j.Queue = r.queueOf(text)
	case "priority":
		j.Priority, err = priorityIn(text)
	case "seconds":
		j.Service, err = secondsOf(text)
	case "estimated_seconds":
		if text != "" {
			j.Estimate, err = secondsOf(text)
		}
	case "checkpointable":
		j.Checkpointable, err = flagOf(text)
	case "failed":
		j.Failed, err = flagOf(text)
	}
	return err
}

func (r *reader) queueOf(text string) string {
	if text == "" {
		return r.queue
	}
	if name, ok := r.names[text]; ok {
		return name
	}
	name := strings.Clone(text)
	r.names[name] = name
	return name
}

func timeOf(text string) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(seconds) || seconds < 0 || seconds > 1e11 {
		return time.Time{}, fmt.Errorf("%q is neither a time such as 2026-06-01T08:30:00Z nor a number of seconds", text)
	}
	whole, part := math.Modf(seconds)
	return time.Unix(int64(whole), int64(part*1e9)).UTC(), nil
}

func secondsOf(text string) (time.Duration, error) {
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(seconds) || seconds < 0 || seconds > mostSeconds {
		return 0, fmt.Errorf("%q is not a number of seconds from 0 to ten years", text)
	}
	return time.Duration(math.Round(seconds * float64(time.Second))), nil
}

func priorityIn(text string) (int, error) {
	if text == "" {
		return 5, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > priorities {
		return 0, fmt.Errorf("%q is not a priority from 1 to 10", text)
	}
	return n, nil
}

func flagOf(text string) (bool, error) {
	if text == "" {
		return false, nil
	}
	yes, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("%q is neither true nor false", text)
	}
	return yes, nil
}

// WriteCSV writes a trace as CSV reads it.
func WriteCSV(to io.Writer, trace Trace) (jobs int64, err error) {
	w := csv.NewWriter(to)
	if err := w.Write(columns); err != nil {
		return 0, fmt.Errorf("write trace: %w", err)
	}
	for j, err := range trace {
		if err != nil {
			return jobs, fmt.Errorf("read trace: %w", err)
		}
		line := []string{
			j.At.UTC().Format(time.RFC3339Nano), j.Queue, strconv.Itoa(j.Priority), seconds(j.Service),
			seconds(orElse(j.Estimate, j.Service)), strconv.FormatBool(j.Checkpointable), strconv.FormatBool(j.Failed),
		}
		if err := w.Write(line); err != nil {
			return jobs, fmt.Errorf("write trace: %w", err)
		}
		jobs++
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return jobs, fmt.Errorf("write trace: %w", err)
	}
	return jobs, nil
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
