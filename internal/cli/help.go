package cli

import "github.com/spillway-media/spillway/internal/app"

// helperWord starts the program as a helper; see helperCommand.
const helperWord = "encode-helper"

// helperCommand encodes for a running server, which starts it as a process of
// its own. It is of no use to a person and not listed.
type helperCommand struct{}

// Run helps.
func (helperCommand) Run() error { return app.Help() }
