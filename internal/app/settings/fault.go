package settings

import (
	"cmp"
	"errors"
	"strings"
)

// Error is one thing that is wrong with one setting.
type Error struct {
	Key string // the setting's name, or presets.NAME.PARAMETER
	// What names the value and what is allowed.
	What string
	// Origin is where the value was given; empty when that is not known.
	Origin string
}

// Error implements error; it is one line.
func (f *Error) Error() string {
	text := f.Key + ": " + f.What
	if f.Origin != "" {
		text += " (" + f.Origin + ")"
	}
	return text
}

// Faults takes joined errors apart. Every part of the program words a fault of
// a setting as "key: what", which is how those are read that are no Error yet.
func Faults(err error) []*Error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*Error
		for _, one := range joined.Unwrap() {
			all = append(all, Faults(one)...)
		}
		return all
	}
	if fault, ok := errors.AsType[*Error](err); ok {
		return []*Error{fault}
	}
	key, what, _ := strings.Cut(err.Error(), ": ")
	return []*Error{{Key: key, What: what}}
}

// Join is the inverse of Faults.
func Join(all []*Error) error {
	list := make([]error, len(all))
	for i := range all {
		list[i] = all[i]
	}
	return errors.Join(list...)
}

// Locate adds to every fault where its value was given: above the layers, as
// flags are, whose origins above has by key, else by the layer that holds it.
// A fault of something nobody gave stays as it is.
func (l *Loaded) Locate(err error, above map[string]string) error {
	all := Faults(err)
	for i, fault := range all {
		located := *fault
		located.Origin = cmp.Or(fault.Origin, above[fault.Key], l.given(fault.Key))
		all[i] = &located
	}
	return Join(all)
}

// given is the origin of a key that the file or the environment has.
func (l *Loaded) given(key string) string {
	if value, ok := l.values[key]; ok {
		return value.origin
	}
	if strings.HasPrefix(key, presetsTable+".") {
		return l.at.of(key)
	}
	return ""
}
