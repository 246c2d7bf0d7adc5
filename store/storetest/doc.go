// Package storetest is the one suite that every jobs.Store passes.
//
// Start in run.go (Backend, which a store's own test fills in, and the list of
// rules), then one file for each group of rules; fixture.go has their words.
// State: each rule gets a Backend of its own, on an empty database.
// Rules block on the store only, and never sleep: Shift moves its clock.
// It never looks into a table; what it cannot damage through the interface it
// damages by the SQL of Backend.Exec, which every dialect understands.
// Limits: million.go puts a million rows in only when SPILLWAY_HEAVY is 1.
package storetest
