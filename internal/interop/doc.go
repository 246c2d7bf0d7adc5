// Package interop holds tests of the whole program against HTTP/2 peers of other
// makes: h2spec, nghttp, h2load, curl and Chromium, over TLS and in the clear.
//
// Start in program_test.go (how the server is run), then one file a peer;
// drain_test.go stops the server under load, example_test.go runs examples/h2server.
// State: each test owns its server, data folder and port; the program and its
// pictures are made once for all.
// Everything blocks until a peer has ended, each with a time limit.
// It measures no speed: that is bench/h2. It skips nothing: a peer that is
// missing fails its test. Nothing that it starts outlives it.
// Limits: Linux; about 30 s, of which the first build takes most.
package interop
