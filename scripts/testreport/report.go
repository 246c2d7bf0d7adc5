package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// summaryMark begins a log message that is shown although its test passed:
// what a test measured or counted, such as the files of a corpus.
const summaryMark = "summary: "

// event is one line of `go test -json`; see `go doc test2json`.
type event struct {
	Action     string
	Package    string
	ImportPath string // of build events, which have no Package
	Test       string
	Output     string
}

// testName tells a test in one package from its namesake in another.
type testName struct{ pkg, test string }

// Report adds up the events of one or several runs of go test, one after the
// other in one stream, and writes what a person wants to see of them.
type Report struct {
	out     io.Writer
	begun   map[testName]bool     // tests that have not ended
	output  map[testName][]string // theirs, in pieces
	failed  []testName
	skipped []testName
	passed  int
	broken  []string // packages that failed though none of their tests did
}

// NewReport gives a Report that writes to out.
func NewReport(out io.Writer) *Report {
	return &Report{out: out, begun: map[testName]bool{}, output: map[testName][]string{}}
}

// Read takes events until the stream ends. A line that is not an event, which
// go test writes when it cannot begin at all, is passed through.
func (r *Report) Read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			r.line(line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read test events: %w", err)
		}
	}
}

func (r *Report) line(line string) {
	var e event
	if err := json.Unmarshal([]byte(line), &e); err != nil || e.Action == "" {
		fmt.Fprint(r.out, line)
		return
	}
	r.add(e)
}

func (r *Report) add(e event) {
	name := testName{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "run":
		r.begun[name] = true
	case "output":
		r.keep(name, e.Output)
	case "pass", "skip", "fail":
		r.end(name, e.Action)
	}
}

// keep holds a test's output back until it is known whether the test failed.
// A package's own lines ("ok  pkg 1.2s") are shown at once.
func (r *Report) keep(name testName, output string) {
	if name.test != "" {
		r.output[name] = append(r.output[name], output)
		return
	}
	if output != "PASS\n" && output != "FAIL\n" {
		fmt.Fprint(r.out, output)
	}
}

// end books how a test ended, or how a package did when name has no test.
func (r *Report) end(name testName, action string) {
	switch {
	case name.test == "" && action == "fail":
		r.failPackage(name.pkg)
	case name.test == "": // whether a package passed is told by its tests
	case action == "pass":
		r.passed++
		r.showSummaries(name)
	case action == "skip":
		r.skipped = append(r.skipped, name)
		r.flush(name)
	default:
		r.failed = append(r.failed, name)
		r.flush(name)
	}
	delete(r.begun, name)
}

// failPackage fails the tests that a crash or a time-out cut off, which have
// no event of their own, or the package itself when no test can be named.
func (r *Report) failPackage(pkg string) {
	for name := range r.begun {
		if name.pkg == pkg {
			r.end(name, "fail")
		}
	}
	if !slices.ContainsFunc(r.failed, func(name testName) bool { return name.pkg == pkg }) {
		r.broken = append(r.broken, pkg)
	}
}

// showSummaries shows the marked lines of a test that passed.
func (r *Report) showSummaries(name testName) {
	for _, line := range r.output[name] {
		if _, summary, found := strings.Cut(line, summaryMark); found {
			fmt.Fprint(r.out, summaryMark, summary)
		}
	}
	delete(r.output, name)
}

func (r *Report) flush(name testName) {
	for _, line := range r.output[name] {
		fmt.Fprint(r.out, line)
	}
	delete(r.output, name)
}

// Good tells whether tests ran and all of them passed, none skipped.
func (r *Report) Good() bool {
	return r.passed > 0 && len(r.failed) == 0 && len(r.skipped) == 0 && len(r.broken) == 0
}

// Close names what did not pass and writes the closing line.
func (r *Report) Close() {
	for _, name := range r.failed {
		fmt.Fprintf(r.out, "failed: %s %s\n", name.pkg, name.test)
	}
	for _, pkg := range r.broken {
		fmt.Fprintf(r.out, "failed: %s did not build or could not be run\n", pkg)
	}
	for _, name := range r.skipped {
		fmt.Fprintf(r.out, "skipped, which counts as a failure: %s %s\n", name.pkg, name.test)
	}
	if r.passed == 0 {
		fmt.Fprintln(r.out, "no test passed, which counts as a failure")
	}
	failed := len(r.failed) + len(r.broken)
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped\n", r.passed, failed, len(r.skipped))
}
