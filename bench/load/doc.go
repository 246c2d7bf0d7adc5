// Command load measures the server against the bars of docs/performance.md:
// one run, one table, with the machine, the command and the noise.
//
// Start in main.go, then bench.go (the sections, in order) and bench/report (rows
// and verdicts); each section has a file of its own, such as cpu.go and open.go.
// State: the bench owns the folder, the pictures and the report; a section owns
// the servers it starts, and stops them before it returns.
// The whole run blocks for some fifteen minutes, with -short for less than three.
// It never fails because a bar was missed, only when it could not measure.
// Limits: Linux; the load shares the machine with the server, which is why its own
// CPU time is told; sources are files of its own making, the same every time.
package main
