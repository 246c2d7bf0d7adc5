package fleet

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// maxFile bounds what is read as a scheduler's file.
const maxFile = 1 << 20

// Parse decodes the scheduler's file strictly, fills in defaults, and reports
// every fault by its JSON path, as joined *KeyError. A key that is not known is
// a fault, since a limit that is misspelt would be no limit.
func Parse(file []byte) (Config, error) {
	f := &faults{}
	if len(file) > maxFile {
		f.add("", "is larger than %d bytes", maxFile)
		return Config{}, f.join()
	}
	root := readTree(file, f)
	if root == nil {
		return Config{}, f.join()
	}
	var cfg Config
	readKeys(root, "", fileKeys(), &cfg, f)
	fillMinLifetime(root, &cfg)
	needLimits(root, cfg, f)
	cfg.check(f)
	if err := f.join(); err != nil {
		return Config{}, err
	}
	return cfg, nil
}

// fillMinLifetime sets the one default that hangs on another key: backlog wants
// machines early, and would start and end them in turns without it.
func fillMinLifetime(root *node, cfg *Config) {
	if root.fields["min_lifetime_minutes"] == nil && cfg.Policy == PolicyBacklog {
		cfg.MinLifetime = 15 * time.Minute
	}
}

// needLimits refuses to take a default for how much money may be spent.
func needLimits(root *node, cfg Config, f *faults) {
	if cfg.Mode != Hybrid && cfg.Mode != CloudFirst {
		return
	}
	limits := root.fields["cost_limits"]
	for _, key := range []string{"max_hourly_spend_cents", "max_daily_spend_cents"} {
		if limits == nil || limits.fields[key] == nil {
			f.add("cost_limits."+key, "must be there when mode is %s", cfg.Mode)
		}
	}
}

// KeyError is one fault of the file. It quotes no address, key or template.
type KeyError struct {
	Path    string // "queues.images.max_workers"; "" the file itself
	Problem string
}

func (e *KeyError) Error() string {
	if e.Path == "" {
		return "the file: " + e.Problem
	}
	return e.Path + ": " + e.Problem
}

// faults gathers what is wrong, so that all of it is told at once.
type faults struct{ list []error }

func (f *faults) add(path, format string, args ...any) {
	f.list = append(f.list, &KeyError{Path: path, Problem: fmt.Sprintf(format, args...)})
}

func (f *faults) join() error { return errors.Join(f.list...) }

// spec is what is known of a key, whatever object it is in.
type spec struct {
	name string
	// def is the default as it would stand in the file; "" none.
	def string
	// unit is "seconds", "minutes", "cents", "units" (of the currency), or "".
	unit string
	// low and high bound numbers, in the key's unit.
	low, high int64
	oneOf     []string
	null      bool // may be null, which is as if it were not there
	must      bool // has to be there
	help      string
}

// key is a key of an object that is read into a T.
type key[T any] struct {
	spec
	at  func(*T) any                                   // where its value goes
	sub func(into *T, n *node, path string, f *faults) // or who reads it; n is nil when it is not there
}

// readKeys reads an object by the table of its keys; n is nil for an object
// that is not there, which is all defaults.
func readKeys[T any](n *node, path string, keys []key[T], into *T, f *faults) {
	if n != nil && n.kind != anObject {
		f.add(path, "must be an object, not %s", n.kind)
		n = nil
	}
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
		readKey(n, join(path, k.name), k, into, f)
	}
	if n == nil {
		return
	}
	for _, name := range n.keys {
		if !slices.Contains(names, name) {
			f.add(join(path, name), "is no key%s", hint(name, names))
		}
	}
}

func readKey[T any](n *node, path string, k key[T], into *T, f *faults) {
	var v *node
	if n != nil {
		v = n.fields[k.name]
	}
	if v != nil && v.kind == aNull && k.null {
		v = nil
	}
	if k.sub != nil {
		k.sub(into, v, path, f)
		return
	}
	if k.def != "" {
		readValue(readTree([]byte(`{"v":`+k.def+`}`), f).fields["v"], k.at(into), k.spec, path, f)
	}
	if v != nil {
		readValue(v, k.at(into), k.spec, path, f)
	}
}

// hint names what was probably meant.
func hint(name string, known []string) string {
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return "; known are " + strings.Join(known, ", ")
}
