// Command pools runs one load through every shape of worker pool in one
// process, turn and turn about, and says what each of them cost.
//
// Start in main.go, then ladder.go (who runs when) and measure.go (one cell);
// the shapes are in direct.go, channels.go, demand.go, peers.go and scaler.go.
// State: one cell at a time owns the machine; its meter and samples are its own.
// The whole run blocks for about six minutes, with -short for one.
// It is a module of its own, so that no peer is a dependency of the server.
// Limits: Linux only; differences below 4 % between shapes are noise.
package main
