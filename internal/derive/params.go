package derive

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/jobs"
)

const (
	// maxOutputs bounds what is made of one picture: sizes times formats.
	maxOutputs = 64
	// maxFields and maxFormats bound the time that it takes to find out what is
	// wrong with params; there are fewer of either.
	maxFields  = 100
	maxFormats = 20
)

// pictureParams are what is made of each picture, as the job asks for it.
type pictureParams struct {
	// outputs has a request of one size and one format for each picture that
	// is made, which is what /resize is asked for, too.
	outputs []media.Request
}

// object is params by name, each not read yet.
type object map[string]json.RawMessage

func readObject(raw json.RawMessage) (object, error) {
	fields := object{}
	if len(raw) == 0 {
		return fields, nil
	}
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return nil, wrong("params", "they are not a JSON object.")
	}
	if len(fields) > maxFields {
		return nil, wrong("params", "they have %d fields; at most %d are taken.", len(fields), maxFields)
	}
	return fields, nil
}

// take reads a field of the job's own and removes it, so that what is left is
// for the picture. An absent one leaves into as it is.
func (o object) take(name string, into any, is string) error {
	raw, given := o[name]
	delete(o, name)
	if !given {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil || string(raw) == "null" {
		return wrong("params."+name, "%.100s is not %s.", raw, is)
	}
	return nil
}

// picture reads what is left by the parser of the HTTP API. All faults are told.
func (o object) picture(limits media.Limits) (pictureParams, error) {
	query := url.Values{}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(o)) {
		value, err := text(name, o[name])
		errs = append(errs, err)
		query.Set(name, value)
	}
	for _, name := range []string{"encoder", "placeholders"} {
		if query.Has(name) {
			query.Del(name)
			errs = append(errs, wrong("params."+name, "it says how an answer travels, and a job's pictures are stored."))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return pictureParams{}, err
	}
	return expand(query, limits)
}

// text is a value as it stands in a query. A list of texts is what it is there,
// with commas.
func text(name string, raw json.RawMessage) (string, error) {
	var value any
	if err := json.Unmarshal(raw, &value); err == nil {
		switch value := value.(type) {
		case string:
			return value, nil
		case bool, float64:
			return strings.TrimSpace(string(raw)), nil
		case []any:
			if list, ok := texts(value); ok {
				return strings.Join(list, ","), nil
			}
		}
	}
	return "", wrong("params."+name, "%.100s is no text, number, switch or list of texts.", raw)
}

func texts(values []any) (list []string, ok bool) {
	for _, v := range values {
		one, ok := v.(string)
		if !ok {
			return nil, false
		}
		list = append(list, one)
	}
	return list, len(list) > 0
}

// expand makes a request for each size in each format.
func expand(query url.Values, limits media.Limits) (pictureParams, error) {
	formats := []string{""}
	if query.Has("format") {
		formats = strings.Split(query.Get("format"), ",")
	}
	if len(formats) > maxFormats {
		return pictureParams{}, wrong("params.format", "it lists %d formats; at most %d are taken.", len(formats), maxFormats)
	}
	var p pictureParams
	seen := map[string]bool{}
	for _, format := range formats {
		if query.Has("format") {
			query.Set("format", strings.TrimSpace(format))
		}
		if faults := media.Faults(query, limits); len(faults) > 0 {
			return p, specErrors(faults)
		}
		whole, err := media.Parse(query, limits)
		if err != nil {
			return p, specErrors([]error{err})
		}
		if mark := whole.Watermark; mark != nil {
			if err := checkInput("params.watermark", mark.URL); err != nil {
				return p, err
			}
		}
		for _, size := range whole.Sizes {
			one := whole
			one.Sizes = []media.Size{size}
			if name := one.Canonical(); !seen[name] {
				seen[name] = true
				p.outputs = append(p.outputs, one)
			}
		}
	}
	if len(p.outputs) > maxOutputs {
		return p, wrong("params.sizes", "with the formats they make %d pictures of one; at most %d are made.", len(p.outputs), maxOutputs)
	}
	return p, nil
}

// specErrors puts faults of the parser into the words of jobs.
func specErrors(faults []error) error {
	errs := make([]error, len(faults))
	for i, fault := range faults {
		errs[i] = wrong("params", "they cannot be read.")
		if coded, ok := errors.AsType[*media.Error](fault); ok {
			// The parser puts the name first, as the field does here.
			errs[i] = &jobs.SpecError{Field: "params." + coded.Param, Detail: strings.TrimPrefix(coded.Detail, coded.Param+": ")}
		}
	}
	return errors.Join(errs...)
}

func wrong(field, format string, args ...any) *jobs.SpecError {
	return &jobs.SpecError{Field: field, Detail: fmt.Sprintf(format, args...)}
}

// checkImage is Kind.Check of image.derive.
func checkImage(s *jobs.Spec, limits media.Limits) error {
	p, err := readImage(s.Params, limits)
	if err = errors.Join(checkInput("input", s.Input), err); err != nil {
		return err
	}
	estimate(s, 1, len(p.outputs))
	return nil
}

func readImage(raw json.RawMessage, limits media.Limits) (pictureParams, error) {
	fields, err := readObject(raw)
	if err != nil {
		return pictureParams{}, err
	}
	return fields.picture(limits)
}

// estimate is a guess at the seconds, for fairness and routing.
func estimate(s *jobs.Spec, pictures, outputs int) {
	if s.EstimatedSeconds == 0 {
		s.EstimatedSeconds = min(max(float64(pictures*(1+outputs))/10, 1), 24*3600)
	}
}

// checkInput refuses what can be no original wherever it is opened.
func checkInput(field, ref string) error {
	scheme, _, hasScheme := strings.Cut(ref, "://")
	switch {
	case ref == "":
		return wrong(field, "it is empty; give a URL, s3://bucket/key, the key of a file or upload:ID.")
	case strings.HasPrefix(ref, source.UploadScheme):
		if _, err := uploadKey(ref); err != nil {
			return wrong(field, "%.100q is not the id of an upload.", ref)
		}
	case hasScheme && !slices.Contains([]string{"http", "https", "s3"}, strings.ToLower(scheme)):
		return wrong(field, "%.100q has another scheme than http, https and s3.", ref)
	}
	return nil
}
