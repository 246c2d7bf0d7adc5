// Package cli is the command line: its grammar, what the commands print, and
// how an error becomes an exit code.
//
// Start in main.go (Main), then grammar.go; each command has a file of its own.
// State: none outlives a call of Main.
// Commands block until their work is done or their context ends.
// It never reads the environment or a file of settings; internal/app/settings does.
// Limits: those of the settings.
package cli
