// Package media is the vocabulary of the image path and its pure planning.
//
// Start in plan.go, which names the steps in their order; request.go (what a
// client asked for, read by parse.go from the table in parameters.go) and
// info.go (what a source is) are what planner.go makes a Plan from. layout.go
// has the geometry, negotiate.go the choice of an output format. sniff.go and
// inspect.go look at the bytes of a source before any decoder does.
// State: none; every function is pure and safe for concurrent use.
// Nothing here blocks, reads a clock, touches a file or knows HTTP or libvips.
// Inspecting is bound by the speed of reading, and by Limits where a file could
// make it more.
// Limits: sizes are checked against Limits before any pixel is decoded.
package media
