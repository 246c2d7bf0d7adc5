//go:build !race

package storetest

// flood is how many jobs one tenant has.
const flood = 10_000
