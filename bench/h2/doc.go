// Command h2 measures the HTTP/2 server against its targets and beside Go's own,
// in one run: a page of pictures over a slow link, fairness, speed, a filmstrip.
//
// Start in main.go, then bench.go (the sections, in order) and bench/report (tables
// and verdicts); each section has a file of its own, such as page.go and late.go.
// State: the bench owns the folder, the pictures, the link and the report; a
// section owns the servers it starts, and stops them before it returns.
// The whole run blocks for some six minutes, with -short for less than two.
// It ends with an error when a target was missed, and writes docs/h2.md only when asked.
// Limits: Linux and root, for the shaped link; server and client share a machine.
package main
