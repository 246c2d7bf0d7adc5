// Package browser drives a headless Chromium for tests and measurements, by the
// DevTools protocol over a pair of pipes: no port, no library and no Node.
//
// Start in browser.go (a browser's life), then page.go (what a tab can do);
// pipe.go is how commands and answers cross, process.go how it is run.
// State: a Browser owns its processes, its profile folder and one goroutine that
// reads; its mutex guards who waits for what. Pages may be used by many.
// Every method that takes a context blocks until Chromium answers; Close blocks
// until the last of its processes is gone.
// It never reaches a host that it was not told of, and keeps no profile.
// Limits: Linux and macOS; an answer, pictures included, is held in memory.
package browser
