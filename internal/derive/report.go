package derive

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/spillway-media/spillway/jobs"
)

// shownFailures is how many failed items the result tells; the report has all.
const shownFailures = 20

// summary is the result of bulk.derive.
type summary struct {
	Items     int    `json:"items"`
	Succeeded int    `json:"succeeded"`
	Failed    int    `json:"failed"`
	Skipped   int    `json:"skipped"` // below the prefix, and no pictures
	Resumed   int    `json:"resumed"` // of the succeeded, by earlier attempts
	Outputs   int    `json:"outputs"`
	Bytes     int64  `json:"bytes"`
	Into      string `json:"into"`
	// Failures are the first of the failed.
	Failures []item  `json:"failures,omitempty"`
	Report   *report `json:"report"`
}

// report is where every item stands, a JSON object a line.
type report struct {
	Key   string `json:"key"`
	Bytes int64  `json:"bytes"`
}

// conclude writes the report and says how the job ended.
func (b *bulk) conclude(ctx context.Context) (json.RawMessage, error) {
	slices.SortFunc(b.failed, func(x, y item) int { return x.Index - y.Index })
	s := summary{
		Items: len(b.names), Succeeded: len(b.done), Failed: len(b.failed), Skipped: b.skipped, Resumed: b.resumed,
		Into: b.params.into, Failures: b.failed[:min(len(b.failed), shownFailures)],
	}
	if err := b.write(ctx, &s); err != nil {
		return nil, err
	}
	if most := b.params.failures(len(b.names)); len(b.failed) > most {
		return nil, b.tooManyFailed(s, most)
	}
	return encode(s)
}

// write stores the report. It goes by a file, because it may have a hundred
// megabytes and several jobs may end at once.
func (b *bulk) write(ctx context.Context, s *summary) error {
	file, err := unnamedFile(b.cfg.TempDir, "spillway-report-*")
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	defer file.Close() //nolint:errcheck // it has no name, so nothing of it stays
	hash := sha256.New()
	if err := b.lines(io.MultiWriter(file, hash), s); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	bytes, err := file.Seek(0, io.SeekCurrent)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	s.Report = &report{Key: b.maker.folder + "/report-" + hex.EncodeToString(hash.Sum(nil)[:8]) + ".jsonl", Bytes: bytes}
	return b.maker.put(ctx, s.Report.Key, file, bytes)
}

// lines writes those of the report in the order of the items. It counts outputs.
func (b *bulk) lines(to io.Writer, s *summary) error {
	failed := make(map[int]item, len(b.failed))
	for _, i := range b.failed {
		failed[i.Index] = i
	}
	lines := bufio.NewWriter(to)
	for index := range b.names {
		raw := b.done[index]
		if raw != nil {
			if err := s.count(index, raw); err != nil {
				return err
			}
		} else if i, ok := failed[index]; ok {
			var err error
			if raw, err = encode(i); err != nil {
				return err
			}
		} else {
			continue // the job stopped before it came to this one
		}
		_, _ = lines.Write(raw) // Flush has the error
		_ = lines.WriteByte('\n')
	}
	return lines.Flush()
}

// count adds what a checkpoint says was made.
func (s *summary) count(index int, checkpoint json.RawMessage) error {
	var made item
	if err := json.Unmarshal(checkpoint, &made); err != nil {
		return fmt.Errorf("read checkpoint of item %d: %w", index, err)
	}
	s.Outputs += len(made.Outputs)
	for _, o := range made.Outputs {
		s.Bytes += o.Bytes
	}
	return nil
}

// tooManyFailed ends the job, for good when trying again would change nothing.
// What is done stays done.
func (b *bulk) tooManyFailed(s summary, most int) error {
	first := s.Failures[0]
	return &jobs.Failure{
		Code: CodeFailures, Permanent: b.tooMany(),
		Reason: fmt.Sprintf("%d of %d items failed, and %d may; %d are done. The first is %.200q: %s The report is at %s.",
			s.Failed, s.Items, most, s.Succeeded, first.Input, first.Reason, s.Report.Key),
	}
}
