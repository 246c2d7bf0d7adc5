// Package traffic makes requests the way clients do, and keeps what came of
// each: so many clients in turn, arrivals at random at a fixed rate, readers
// that are slow, clients that leave.
//
// Start in sample.go (what is kept of a request), then closed.go and open.go
// (who asks when), client.go (one request), summary.go (what all say together).
// State: a Client owns its connections; a load owns its goroutines and samples.
// Loads block until their time is over and every request has ended.
// It never measures from when a request could be sent, only from when it was meant
// to be: a server that stalls would otherwise hide the requests it held up.
// Limits: HTTP/1.1; latencies are exact, not binned, so runs are minutes long at most.
package traffic
