package app

import (
	"math"
	"runtime/debug"

	"github.com/spillway-media/spillway/internal/machine"
)

// minHeap is below what a limit on Go's heap would only make the collector
// run without end.
const minHeap = 128 << 20

// limitHeap tells the collector how much of a limited container is Go's to
// use: nine tenths of the memory less what lies outside its sight, which is what
// decoded pixels and spools may take. It leaves GOMEMLIMIT alone, and machines
// whose memory is shared with others in ways a limit would not help.
func limitHeap(facts machine.Facts, outside int64) {
	if !facts.MemoryLimited || debug.SetMemoryLimit(-1) != math.MaxInt64 {
		return
	}
	debug.SetMemoryLimit(heapLimit(facts.Memory, outside))
}

func heapLimit(memory, outside int64) int64 {
	return max(memory/10*9-outside, minHeap)
}
