//go:build !race

package storetest

// flood is how many jobs one tenant has.
const flood = 10_000

// raced says that everything takes much longer.
const raced = false
