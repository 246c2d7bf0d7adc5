// Package chaos holds no code: its tests run workers in processes of their own
// on real databases and kill whatever can be killed while thousands of jobs go
// through, then count what became of each.
//
// Start in storm_test.go, then worker_test.go (what runs in a process) and
// crew_test.go (what happens to it); late_test.go stops a single worker past
// its lease.
// State: each test has its own databases, folders and processes, and ends them.
// Tests block for as long as the storm lasts; no process outlives the test's.
// It never counts on a moment: what it checks holds whatever was killed when.
// Limits: SPILLWAY_HEAVY=1 makes the storm ten times as long.
package chaos
