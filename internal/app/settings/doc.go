// Package settings is every setting of the program: its name, default, unit
// and range, and the layers it can come from.
//
// Start in config.go (the settings themselves), then load.go, which lays the
// environment over one file over the defaults; kinds.go has the units.
// State: none; a Config is a plain value and a Loaded is not changed once made.
// Only Load blocks, while it reads the file; Validate looks at paths on disk.
// It never acts on a setting; internal/app does.
// Limits: a file of settings may have at most 1 MiB.
package settings
