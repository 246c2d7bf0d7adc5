// Package process starts the server under test, stops it, and tells what it
// costs: CPU time, memory, and how much of the machine went to others.
//
// Start in server.go (a child process with a port of its own), then tree.go
// (CPU and memory of it and its children), sampler.go (the most it had) and
// machine.go (what else went on); parse.go reads the texts of /proc.
// State: a Server owns its process, a Sampler its goroutine.
// Start blocks until the server listens, Stop until it is gone.
// It never signals a process that it did not start, and none by name.
// Limits: Linux; CPU times of live processes are exact, of ended children to 10 ms.
package process
