// Package h2test is an HTTP/2 client made of frames, for tests: it sends what
// no honest client would, and writes down all that is answered.
//
// Start at Dial, then Client.Open and Client.Response; Frames in Client.Framer.
// One goroutine of a Client reads; the test writes, from one goroutine too.
// Next, Until and Response wait, with the patience of Options, then fail the test.
// It never repairs what a test sends, and checks nothing that a test can check.
// Limits: what is answered is kept in memory, bodies too unless Options drop them.
package h2test
