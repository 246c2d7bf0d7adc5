package derive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
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
	lines, err := b.lines(&s)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(lines)
	s.Report = &report{Key: b.maker.folder + "/report-" + hex.EncodeToString(sum[:8]) + ".jsonl", Bytes: int64(len(lines))}
	if err := b.maker.put(ctx, s.Report.Key, bytes.NewReader(lines), s.Report.Bytes); err != nil {
		return nil, err
	}
	if most := b.params.failures(len(b.names)); len(b.failed) > most {
		return nil, b.tooManyFailed(s, most)
	}
	return encode(s)
}

// lines are those of the report in the order of the items. It counts outputs.
func (b *bulk) lines(s *summary) ([]byte, error) {
	failed := make(map[int]item, len(b.failed))
	for _, i := range b.failed {
		failed[i.Index] = i
	}
	var lines bytes.Buffer
	for index := range b.names {
		raw := b.done[index]
		if raw != nil {
			var made item
			if err := json.Unmarshal(raw, &made); err != nil {
				return nil, fmt.Errorf("read checkpoint of item %d: %w", index, err)
			}
			s.Outputs += len(made.Outputs)
			for _, o := range made.Outputs {
				s.Bytes += o.Bytes
			}
		} else if i, ok := failed[index]; ok {
			var err error
			if raw, err = encode(i); err != nil {
				return nil, err
			}
		} else {
			continue // the job stopped before it came to this one
		}
		lines.Write(raw)
		lines.WriteByte('\n')
	}
	return lines.Bytes(), nil
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
