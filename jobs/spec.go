package jobs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits of one Spec.
const (
	maxInput    = 4 << 10
	maxParams   = 1 << 20 // a list of thousands of inputs fits
	maxKey      = 200
	maxTenant   = 100
	maxAttempts = 25
	maxDelay    = 366 * 24 * time.Hour
	maxWork     = 24 * time.Hour
	maxWait     = 30 * 24 * time.Hour
	minLimit    = time.Second

	defaultAttempts = 5
	defaultWork     = time.Hour
)

// SpecError is what is wrong with a Spec: the field by its JSON name, and a full
// sentence that names the value and what is allowed.
type SpecError struct{ Field, Detail string }

// Error implements error.
func (e *SpecError) Error() string { return e.Field + ": " + e.Detail }

// complete fills in defaults and refuses what no store or worker could use.
func (k Kinds) complete(s *Spec) error {
	kind, ok := k[s.Type]
	if !ok {
		return wrong("type", "%.60q is no job type; there are %s.", s.Type, strings.Join(k.Types(), ", "))
	}
	if s.Queue == "" {
		s.Queue = kind.Queue
	}
	if s.Priority == 0 {
		s.Priority = kind.Priority
	}
	if s.MaxAttempts == 0 {
		s.MaxAttempts = defaultAttempts
	}
	if s.WorkLimit == 0 {
		s.WorkLimit = or(kind.WorkLimit, defaultWork)
	}
	if len(bytes.TrimSpace(s.Params)) == 0 {
		s.Params = json.RawMessage(`{}`)
	}
	s.Checkpointable = s.Checkpointable || kind.Checkpointable
	err := s.check()
	// Faults are told all at once, but a type can only read params that are an object.
	if kind.Check != nil && s.checkParams() == nil {
		err = errors.Join(err, kind.Check(s))
	}
	if err != nil {
		return err
	}
	if s.EstimatedSeconds == 0 {
		s.EstimatedSeconds = 1
	}
	return nil
}

func wrong(field, format string, args ...any) *SpecError {
	return &SpecError{field, fmt.Sprintf(format, args...)}
}

// check knows nothing of types.
func (s *Spec) check() error {
	return errors.Join(s.checkTexts(), s.checkNumbers(), s.checkTimes(), s.checkParams())
}

func (s *Spec) checkTexts() error {
	var errs []error
	if !QueueName(s.Queue) {
		errs = append(errs, wrong("queue", "%.60q is not 1 to 40 lower-case letters, digits, - and _.", s.Queue))
	}
	for _, text := range []struct {
		field, value string
		most         int
	}{
		{"input", s.Input, maxInput}, {"tenant", s.Tenant, maxTenant},
		{"idempotency_key", s.IdempotencyKey, maxKey}, {"unique_key", s.UniqueKey, maxKey},
		{"webhook", s.Webhook, maxInput},
	} {
		if len(text.value) > text.most {
			errs = append(errs, wrong(text.field, "it has %d bytes; at most %d are taken.", len(text.value), text.most))
		} else if !printable(text.value) {
			errs = append(errs, wrong(text.field, "%.60q is not printable UTF-8 text.", text.value))
		}
	}
	if s.Webhook != "" && !callable(s.Webhook) {
		// Its query may hold a secret, so the value is not repeated.
		errs = append(errs, wrong("webhook", "it is no http or https URL."))
	}
	return errors.Join(errs...)
}

// callable tells whether text is a URL that a notice could be sent to.
func callable(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return false
	}
	port := cmp.Or(u.Port(), "443")
	n, err := strconv.Atoi(port)
	return err == nil && n >= 1 && n <= math.MaxUint16
}

// printable keeps out what a database or a terminal would stumble over.
func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r == unicode.ReplacementChar || unicode.IsControl(r) })
}

// QueueName says whether text can be the name of a queue.
func QueueName(text string) bool {
	return len(text) >= 1 && len(text) <= 40 && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

func (s *Spec) checkNumbers() error {
	var errs []error
	if s.Priority < HighestPriority || s.Priority > LowestPriority {
		errs = append(errs, wrong("priority", "%d is not within 1 (first) to 10.", s.Priority))
	}
	if s.MaxAttempts < 1 || s.MaxAttempts > maxAttempts {
		errs = append(errs, wrong("max_attempts", "%d is not within 1 to %d.", s.MaxAttempts, maxAttempts))
	}
	if !(s.EstimatedSeconds >= 0 && s.EstimatedSeconds <= maxWork.Seconds()) {
		errs = append(errs, wrong("estimated_seconds", "%v is not within 0 to %v.", s.EstimatedSeconds, maxWork.Seconds()))
	}
	return errors.Join(errs...)
}

func (s *Spec) checkTimes() error {
	var errs []error
	if s.Delay < 0 || s.Delay > maxDelay {
		errs = append(errs, wrong("delay_seconds", "%s is not within 0 to %s.", inSeconds(s.Delay), inSeconds(maxDelay)))
	}
	if s.Delay != 0 && !s.RunAt.IsZero() {
		errs = append(errs, wrong("run_at", "it cannot be given together with delay_seconds."))
	}
	// What is told of a job is told in UTC, where its year may be another.
	if year := s.RunAt.UTC().Year(); year > 9999 {
		errs = append(errs, wrong("run_at", "the year %d is beyond 9999.", year))
	}
	if s.WorkLimit < minLimit || s.WorkLimit > maxWork {
		errs = append(errs, wrong("work_limit_seconds", "%s is not within %s to %s.", inSeconds(s.WorkLimit), inSeconds(minLimit), inSeconds(maxWork)))
	}
	if s.WaitLimit != 0 && (s.WaitLimit < minLimit || s.WaitLimit > maxWait) {
		errs = append(errs, wrong("wait_limit_seconds", "%s is neither 0 nor within %s to %s.", inSeconds(s.WaitLimit), inSeconds(minLimit), inSeconds(maxWait)))
	}
	return errors.Join(errs...)
}

func (s *Spec) checkParams() error {
	if len(s.Params) > maxParams {
		return wrong("params", "they have %d bytes; at most %d are taken.", len(s.Params), maxParams)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(s.Params, &object); err != nil || object == nil {
		return wrong("params", "they are not a JSON object.")
	}
	if !utf8.Valid(s.Params) { // which the decoder puts up with, and a database does not
		return wrong("params", "they are not UTF-8.")
	}
	if name, twice := repeated(s.Params); twice {
		return wrong("params", "%.60q stands there twice, and one of them would be lost.", name)
	}
	return nil
}

// repeated finds a name that stands twice in a JSON object.
func repeated(object json.RawMessage) (name string, twice bool) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	_, _ = decoder.Token() // the brace
	seen := map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		name, isName := token.(string)
		var value json.RawMessage
		if err != nil || !isName || decoder.Decode(&value) != nil {
			return "", false // it is no object
		}
		if seen[name] {
			return name, true
		}
		seen[name] = true
	}
	return "", false
}

// inSeconds writes a duration as a plain number, however long it is.
func inSeconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
