package app

import (
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/app/settings"
	"github.com/spillway-media/spillway/internal/machine"
)

func TestHeapLimit(t *testing.T) {
	const gibibyte = 1 << 30
	tests := []struct {
		name                  string
		memory, outside, want int64
	}{
		{"pixels and spools are not Go's", 10 * gibibyte, 4 * gibibyte, 5 * gibibyte},
		{"a budget of everything leaves a least heap", gibibyte, gibibyte, minHeap},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := heapLimit(test.memory, test.outside); got != test.want {
				t.Errorf("limit = %d, want %d", got, test.want)
			}
		})
	}
}

func TestTransformConfigFillsInFromTheMachine(t *testing.T) {
	facts := machine.Facts{CPUs: 8, Quota: 2.5, Memory: 1 << 30}
	c := settings.Defaults()
	got := transformConfig(c, facts)
	if got.Jobs != 3 || got.Queue != 3*64 || got.MemoryBudget != (1<<30)*4/10 || got.QueueWait != 10*time.Second {
		t.Errorf("config by the machine = %+v", got)
	}
	c.Jobs, c.Queue, c.MemoryBudget = 5, 7, settings.Share{Fixed: 99 << 20}
	got = transformConfig(c, facts)
	if got.Jobs != 5 || got.Queue != 7 || got.MemoryBudget != 99<<20 {
		t.Errorf("config by the settings = %+v", got)
	}
	if got := transformConfig(settings.Defaults(), machine.Facts{}); got.MemoryBudget != assumedMemory*4/10 || got.Jobs != 1 {
		t.Errorf("config of an unknown machine = %+v", got)
	}
}

func TestNoRetriesAreNone(t *testing.T) {
	c := settings.Defaults()
	c.SourceRetries = 0
	if got := sourceConfig(c).Retries; got != -1 {
		t.Errorf("retries = %d, want -1, which means none there", got)
	}
}
