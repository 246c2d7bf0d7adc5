package derive

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/jobs"
)

// Limits of a bulk job.
const (
	maxItems       = 50_000
	maxBulkOutputs = 200_000 // items times outputs: what the report has to hold
	maxInputLength = 4 << 10
	maxConcurrency = 32

	defaultConcurrency = 4
)

// The places that a bulk job's pictures may go.
const (
	intoBlob  = "blob"
	intoCache = "cache"
)

// bulkParams are those of bulk.derive.
type bulkParams struct {
	pictureParams
	// One of the two is given. prefix is that of keys in the source root; a
	// prefix of "" is all of it, so byPrefix tells whether it is given.
	inputs      []string
	prefix      string
	byPrefix    bool
	concurrency int
	into        string
	// maxFailures is how many items may fail; nil is the default share.
	maxFailures *int
}

// failures is how many of n items may fail: a tenth where nothing else is
// asked, but one in any case, unless that is all there is.
func (p bulkParams) failures(n int) int {
	if p.maxFailures != nil {
		return *p.maxFailures
	}
	return min(max(n/10, 1), n-1)
}

// checkBulk is Kind.Check of bulk.derive.
func checkBulk(s *jobs.Spec, limits media.Limits) error {
	p, err := readBulk(s.Params, limits)
	if s.Input != "" {
		err = errors.Join(wrong("input", "bulk.derive takes params.inputs or params.prefix instead."), err)
	}
	if err != nil {
		return err
	}
	pictures := len(p.inputs)
	if p.byPrefix {
		pictures = 500 // nobody has counted them yet
	}
	estimate(s, pictures, len(p.outputs))
	return nil
}

func readBulk(raw json.RawMessage, limits media.Limits) (bulkParams, error) {
	p := bulkParams{concurrency: defaultConcurrency, into: intoBlob}
	fields, err := readObject(raw)
	if err != nil {
		return p, err
	}
	_, listed := fields["inputs"]
	_, p.byPrefix = fields["prefix"]
	errs := []error{
		fields.take("inputs", &p.inputs, "a list of texts"),
		fields.take("prefix", &p.prefix, "a text"),
		fields.take("concurrency", &p.concurrency, "a whole number"),
		fields.take("into", &p.into, "a text"),
		fields.take("max_failures", &p.maxFailures, "a whole number"),
	}
	picture, err := fields.picture(limits)
	p.pictureParams = picture
	errs = append(errs, err)
	if listed == p.byPrefix {
		errs = append(errs, wrong("params.inputs", "give either inputs or prefix."))
	}
	if err := errors.Join(errs...); err != nil {
		return p, err
	}
	return p, p.check(listed)
}

func (p bulkParams) check(listed bool) error {
	var errs []error
	if p.concurrency < 1 || p.concurrency > maxConcurrency {
		errs = append(errs, wrong("params.concurrency", "%d is not within 1 to %d.", p.concurrency, maxConcurrency))
	}
	if n := p.maxFailures; n != nil && *n < 0 {
		errs = append(errs, wrong("params.max_failures", "%d is below 0, which is for none.", *n))
	}
	if p.into != intoBlob && p.into != intoCache {
		errs = append(errs, wrong("params.into", "%.100q is neither blob nor cache.", p.into))
	}
	if mark := p.outputs[0].Watermark; mark != nil && p.into == intoCache && strings.HasPrefix(mark.URL, source.UploadScheme) {
		errs = append(errs, wrong("params.watermark", "the image server serves no picture with an upload on it, so there is nothing to make ready."))
	}
	if listed {
		errs = append(errs, p.checkInputs())
	} else if err := checkListed(p.prefix); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// checkInputs tells of the first few faults: there may be thousands.
func (p bulkParams) checkInputs() error {
	if n := len(p.inputs); n < 1 || n > maxItems {
		return wrong("params.inputs", "%d inputs are not within 1 to %d.", n, maxItems)
	}
	if n := len(p.inputs) * len(p.outputs); n > maxBulkOutputs {
		return wrong("params.inputs", "they make %d pictures; one job makes %d at most.", n, maxBulkOutputs)
	}
	var errs []error
	for i, input := range p.inputs {
		if err := p.checkOne(fmt.Sprintf("params.inputs[%d]", i), input); err != nil {
			errs = append(errs, err)
		}
		if len(errs) == 5 {
			break
		}
	}
	return errors.Join(errs...)
}

func (p bulkParams) checkOne(field, input string) error {
	switch {
	case len(input) > maxInputLength:
		return wrong(field, "it has %d bytes; at most %d are taken.", len(input), maxInputLength)
	case !plain(input):
		return wrong(field, "%.100q is not printable UTF-8 text.", input)
	case p.into == intoCache && strings.HasPrefix(input, source.UploadScheme):
		return wrong(field, "an upload is not served by the image server, so there is nothing to make ready.")
	}
	return checkInput(field, input)
}

// checkListed refuses a prefix that is no beginning of a key.
func checkListed(prefix string) error {
	if len(prefix) > 1024 || strings.Contains(prefix, "://") || !plain(prefix) {
		return wrong("params.prefix", "%.100q is not the beginning of keys in the source root, as in photos/2026/.", prefix)
	}
	if coded, ok := errors.AsType[*media.Error](source.CheckPrefix(prefix)); ok {
		return wrong("params.prefix", "%s", coded.Detail)
	}
	return nil
}

// plain says whether a name is text that JSON and a terminal can hold.
func plain(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return r == unicode.ReplacementChar || unicode.IsControl(r) })
}
