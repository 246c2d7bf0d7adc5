// Package report is what the measuring programs share: a run of sections in
// turn, and a report of tables, bars and verdicts with the noise of the machine.
//
// Start in run.go (sections, and what went on meanwhile), then report.go (what
// a section adds) and markdown.go; line.go is main and the command line, page.go the docs.
// State: a Report is owned by the goroutine that runs the sections; nothing else.
// Run blocks as long as the sections do, and a second before the first.
// It never measures anything but the machine, and starts no process.
// Limits: Linux; one section at a time; figures come as text.
package report
