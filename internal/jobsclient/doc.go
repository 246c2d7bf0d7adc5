// Package jobsclient asks for durable jobs and about them: over HTTP, or in
// the database itself.
//
// Start in answers.go (what is answered), then local.go and remote.go, the two
// that answer the same; events.go reads a server's stream of progress.
// State: none but the connection; whoever opened the store closes it.
// Every method blocks on the server or the database within its context.
// It never shows its token to another host than the one it was given for.
// Limits: an answer may have 32 MiB, a line of a stream 2 MiB.
package jobsclient
