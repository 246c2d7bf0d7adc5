//go:build race

package storetest

// flood is how many jobs one tenant has; the race detector makes each dear.
const flood = 1_000

// raced says that everything takes much longer.
const raced = true
