// Package conformance holds the tests that see Spillway as its users do: the
// whole server, real HTTP, real codecs, and answers that are taken apart by
// decoders which share nothing with the engine under test.
//
// Start in server_test.go (the server under test) and picture_test.go (what an
// answer shows); then corpus_test.go, bugreports_test.go, golden_test.go,
// leak_test.go and bench_test.go, one question each.
// State: every test starts a server of its own and ends it.
// Everything here may block on the server, always under a deadline.
// It never looks inside the packages under test, except at the engine's own
// count of memory, and nothing imports it.
// Limits: heavy corpus files run only when SPILLWAY_HEAVY is 1.
package conformance
