package fleet

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// readValue puts one value where it belongs, and leaves what is there when it
// is of the wrong kind.
func readValue(v *node, into any, s spec, path string, f *faults) {
	want := kindOf(into, s)
	if v.kind != want && (s.unit != perUnit || v.kind != aNumber) {
		f.add(path, "must be %s, not %s", want, v.kind)
		return
	}
	var err error
	switch p := into.(type) {
	case *bool:
		*p = v.yes
	case *string:
		*p = v.text
	case *int:
		err = readInt(v.text, func(n int64) { *p = int(n) })
	case *time.Duration:
		err = readInt(v.text, func(n int64) { *p = time.Duration(n) * unitOf(s) })
	case *Money:
		err = readMoney(v.text, s, p)
	case **time.Location:
		err = readZone(v.text, p)
	case *[]string:
		readTexts(v, path, f, func(text string) { *p = append(*p, text) })
	case *[]Level:
		readTexts(v, path, f, func(text string) { *p = append(*p, Level(text)) })
	}
	if err != nil {
		f.add(path, "%v", err)
	}
}

// perUnit is the way in which clouds state prices: "0.05" is five cents.
const perUnit = "units"

func kindOf(into any, s spec) string {
	switch into.(type) {
	case *bool:
		return aTruth
	case *int, *time.Duration:
		return aNumber
	case *Money:
		if s.unit == perUnit {
			return aText
		}
		return aNumber
	case *[]string, *[]Level:
		return aList
	}
	return aText
}

// mostWhole is the largest whole number of the file; as many minutes are still
// a time.Duration.
const mostWhole = 100_000_000

func readInt(text string, set func(int64)) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > mostWhole || n < -mostWhole {
		return fmt.Errorf("must be a whole number of at most %d, not %s", mostWhole, text)
	}
	set(n)
	return nil
}

func unitOf(s spec) time.Duration {
	if strings.HasPrefix(s.unit, "minute") {
		return time.Minute
	}
	return time.Second
}

func readMoney(text string, s spec, into *Money) error {
	m, err := ParseCents(text)
	if s.unit == perUnit {
		m, err = ParseUnits(text)
	}
	if err == nil {
		*into = m
	}
	return err
}

// readZone takes names of the time zone database only: what "Local" means hangs
// on the machine.
func readZone(name string, into **time.Location) error {
	if name == "" || name == "Local" {
		return fmt.Errorf("must be the name of a time zone, such as UTC or Europe/Paris, not %q", name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return fmt.Errorf("%q is no time zone that is known here", name)
	}
	*into = zone
	return nil
}

func readTexts(v *node, path string, f *faults, add func(string)) {
	for i, item := range v.items {
		if item.kind != aText {
			f.add(fmt.Sprintf("%s[%d]", path, i), "must be %s, not %s", aText, item.kind)
			continue
		}
		add(item.text)
	}
}

// checkValue holds a value against the range of its key.
func checkValue(from any, s spec, path string, f *faults) {
	switch p := from.(type) {
	case *int:
		checkRange(int64(*p), s, path, f)
	case *time.Duration:
		checkRange(int64(*p/unitOf(s)), s, path, f)
	case *Money:
		if *p < Cents(s.low) || (s.high != 0 && *p > Cents(s.high)) {
			f.add(path, "must be between %d and %d cents, not %s", s.low, s.high, *p)
		}
	case *string:
		checkOneOf(*p, s, path, f)
	case *[]string:
		for i, text := range *p {
			checkOneOf(text, s, fmt.Sprintf("%s[%d]", path, i), f)
		}
	case *[]Level:
		for i, level := range *p {
			checkOneOf(string(level), s, fmt.Sprintf("%s[%d]", path, i), f)
		}
	}
}

func checkRange(n int64, s spec, path string, f *faults) {
	if n < s.low || n > s.high {
		f.add(path, "must be between %d and %d, not %d", s.low, s.high, n)
	}
}

func checkOneOf(text string, s spec, path string, f *faults) {
	switch {
	case text == "" && s.must:
		f.add(path, "must be there")
	case text == "" && s.def == "": // it need not be there
	case len(s.oneOf) > 0 && !slices.Contains(s.oneOf, text):
		f.add(path, "%q is not known%s", text, hint(text, s.oneOf))
	}
}
