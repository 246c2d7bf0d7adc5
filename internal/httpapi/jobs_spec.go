package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/jobs"
)

// seconds reads a duration from a number of them.
type seconds time.Duration

// UnmarshalJSON takes what no job may last for the longest there is, so that
// the job's own check finds it too long rather than this one overflowing.
func (s *seconds) UnmarshalJSON(text []byte) error {
	var n float64
	if err := json.Unmarshal(text, &n); err != nil {
		return fmt.Errorf("read seconds: %w", err)
	}
	const most = 1e9
	*s = seconds(max(-most, min(n, most)) * float64(time.Second))
	return nil
}

// specFields are the fields of a job by their names in JSON, and where their
// values go: those of jobs.Spec, and its durations in seconds.
func specFields(s *jobs.Spec) map[string]any {
	return map[string]any{
		"type": &s.Type, "queue": &s.Queue, "priority": &s.Priority, "tenant": &s.Tenant,
		"input": &s.Input, "params": &s.Params,
		"idempotency_key": &s.IdempotencyKey, "unique_key": &s.UniqueKey,
		"run_at": &s.RunAt, "delay_seconds": (*seconds)(&s.Delay),
		"max_attempts":       &s.MaxAttempts,
		"wait_limit_seconds": (*seconds)(&s.WaitLimit), "work_limit_seconds": (*seconds)(&s.WorkLimit),
		"estimated_seconds": &s.EstimatedSeconds, "checkpointable": &s.Checkpointable,
		"webhook": &s.Webhook,
	}
}

// kindOf says what a field wants to be.
func kindOf(place any) string {
	switch place.(type) {
	case *string:
		return "a text"
	case *int:
		return "a whole number"
	case *float64:
		return "a number"
	case *bool:
		return "true or false"
	case *time.Time:
		return "a time such as 2026-12-01T09:30:00Z"
	case *seconds:
		return "a number of seconds"
	}
	return "JSON"
}

// parseJobs reads the body of an enqueue: one job, or {"jobs": [...]}.
func parseJobs(text []byte) (specs []jobs.Spec, batch bool, err error) {
	fields, err := members(text)
	if err != nil {
		return nil, false, media.Wrap(codeInvalidBody, err, "The body cannot be read: %s.", err)
	}
	if !slices.ContainsFunc(fields, func(m member) bool { return m.name == "jobs" }) {
		spec, faults := parseSpec(fields, "")
		return []jobs.Spec{spec}, false, allFaults(codeInvalidBody, faults)
	}
	var faults []fieldFault
	for _, m := range fields {
		if m.name != "jobs" {
			faults = append(faults, fieldFault{m.name, "it cannot stand beside jobs; each of them has its own fields."})
			continue
		}
		list, more := parseList(m.value)
		specs, faults = list, append(faults, more...)
	}
	return specs, true, allFaults(codeInvalidBody, faults)
}

func parseList(text json.RawMessage) (specs []jobs.Spec, faults []fieldFault) {
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, []fieldFault{{"jobs", "it is not a list of jobs."}}
	}
	if len(list) > jobs.MaxBatch {
		return nil, []fieldFault{{"jobs", fmt.Sprintf("%d jobs are not within 1 to %d.", len(list), jobs.MaxBatch)}}
	}
	for i, item := range list {
		prefix := fmt.Sprintf("jobs[%d]", i)
		fields, err := members(item)
		if err != nil {
			faults = append(faults, fieldFault{prefix, err.Error() + "."})
			continue
		}
		spec, more := parseSpec(fields, prefix+".")
		specs, faults = append(specs, spec), append(faults, more...)
	}
	return specs, faults
}

// parseSpec reads one job. What the values mean is for the job to check.
func parseSpec(fields []member, prefix string) (spec jobs.Spec, faults []fieldFault) {
	places := specFields(&spec)
	for _, m := range fields {
		place, known := places[m.name]
		if !known {
			faults = append(faults, fieldFault{prefix + shortName(m.name), unknownField(m.name, places)})
			continue
		}
		if err := json.Unmarshal(m.value, place); err != nil {
			faults = append(faults, fieldFault{prefix + m.name, "it is not " + kindOf(place) + "."})
		}
	}
	return spec, faults
}

func shortName(name string) string { return strings.ToValidUTF8(name[:min(len(name), 60)], "") }

func unknownField(name string, places map[string]any) string {
	known := slices.Sorted(maps.Keys(places))
	if near := media.Nearest(name, known); near != "" {
		return fmt.Sprintf("it is no field of a job; the nearest is %s.", near)
	}
	return fmt.Sprintf("it is no field of a job; there are %s.", strings.Join(known, ", "))
}

// keyHeader gives the only job of a request the key of its header.
func keyHeader(values []string, specs []jobs.Spec, batch bool) error {
	if len(values) == 0 {
		return nil
	}
	const name = "Idempotency-Key"
	switch {
	case len(values) > 1:
		return invalid(name, "%s: given %d times; it may be given once.", name, len(values))
	case batch:
		return invalid(name, "%s: it is for a single job; give each of several its own idempotency_key.", name)
	case values[0] == "":
		return invalid(name, "%s: it is empty.", name)
	case specs[0].IdempotencyKey != "" && specs[0].IdempotencyKey != values[0]:
		return invalid(name, "%s: idempotency_key says something else.", name)
	}
	specs[0].IdempotencyKey = values[0]
	return nil
}

// sameJob tells whether an earlier job is what is asked for now under the same
// idempotency key. Params that only look different are the same.
func sameJob(asked jobs.Spec, job *jobs.Job) bool {
	if asked.IdempotencyKey == "" || asked.IdempotencyKey != job.IdempotencyKey {
		return true // its unique key was why it is there
	}
	return asked.Type == job.Type && asked.Input == job.Input && sameJSON(asked.Params, job.Params)
}

// sameJSON compares what two texts say; nothing says the same as {}.
func sameJSON(a, b json.RawMessage) bool {
	one, err1 := canonical(a)
	two, err2 := canonical(b)
	return errors.Join(err1, err2) == nil && one == two
}

// canonical writes a text anew: names in order, no spaces, numbers as they were.
func canonical(text json.RawMessage) (string, error) {
	if len(text) == 0 {
		return "{}", nil
	}
	var value any
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return "", fmt.Errorf("read params: %w", err)
	}
	again, err := json.Marshal(value)
	return string(again), err
}

// readOptions reads the few fields of a body that may be empty.
func readOptions(text []byte, places map[string]any) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	fields, err := members(text)
	if err != nil {
		return media.Wrap(codeInvalidBody, err, "The body cannot be read: %s.", err)
	}
	var faults []fieldFault
	for _, m := range fields {
		place, known := places[m.name]
		if !known {
			faults = append(faults, fieldFault{shortName(m.name), "it is not read here."})
		} else if err := json.Unmarshal(m.value, place); err != nil {
			faults = append(faults, fieldFault{m.name, "it is not " + kindOf(place) + "."})
		}
	}
	return allFaults(codeInvalidBody, faults)
}

// plainText keeps out what a database or a terminal would stumble over.
func plainText(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r == unicode.ReplacementChar || unicode.IsControl(r) })
}
