// Package jobstest has a jobs.Store that keeps its rows in memory, for tests of
// what stands on a store.
//
// Start in store.go (rows, and the index of ready ones), then one file for each
// role of jobs.Store; knobs.go makes calls fail, lose their answers or take long.
// State: all of it belongs to the Store and is guarded by its one mutex.
// Only a knob blocks, on a timer or on what the test gave it, within ctx; so a
// Store works inside a synctest bubble, with time.Now as its clock.
// It never forgets a rule of jobs.Store: store/storetest runs on it as well.
// Limits: none; it is as slow as its tests are small, and nothing is durable.
package jobstest
