// Command testreport turns the output of `go test -json` into the lines a
// person reads, and into an exit code that a skipped test makes non-zero.
//
// Start in main.go (in and out), then report.go (what the events add up to).
// State: one Report, owned by the goroutine that reads standard input.
// It blocks on standard input only.
// It never runs a test itself: scripts/test.sh does.
// Limits: the output of one test is kept in memory until that test ends.
package main
