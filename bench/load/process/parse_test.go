package process_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/bench/load/process"
)

const statLine = "4242 (a (very) odd name) S 17 4242 4242 0 -1 4194560 2316 99 0 0 152 48 10 5 20 0 9 0 88301 1284 321 " +
	"18446744073709551615 1 1 0 0 0 0 0 4096 0 0 0 0 17 1 0 0 0 0 0\n"

func TestStatIsReadWhateverTheNameHolds(t *testing.T) {
	got, err := process.ParseStat(statLine)
	want := process.Stat{PID: 4242, Parent: 17, State: "S", CPU: 2 * time.Second, Ended: 150 * time.Millisecond, Threads: 9}
	if err != nil || got != want {
		t.Errorf("stat = %+v, %v; want %+v", got, err, want)
	}
}

func TestStatThatIsCutOffIsAnError(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":          "",
		"no name":          "4242 S 17",
		"no fields":        "4242 (spillway)",
		"too few":          "4242 (spillway) S 17 4242",
		"letters":          "4242 (x) S 17 4242 4242 0 -1 4194560 2316 99 0 0 many 48 10 5 20 0 9",
		"no process id":    "x (x) S 17 4242 4242 0 -1 4194560 2316 99 0 0 152 48 10 5 20 0 9",
		"brackets swapped": ") 4242 (",
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := process.ParseStat(text); err == nil {
				t.Errorf("stat = %+v, want an error", got)
			}
		})
	}
}

func TestSizesAreReadByName(t *testing.T) {
	text := "Name:\tspillway\nVmHWM:\t   62384 kB\nVmRSS:\t   60000 kB\nThreads:\t9\nRssAnon:\t 1 kB\n"
	got := process.ParseSizes(text, "VmRSS", "VmHWM", "VmSwap", "Threads")
	if diff := cmp.Diff([]int64{60000 << 10, 62384 << 10, 0, 0}, got); diff != "" {
		t.Errorf("sizes (-want +got):\n%s", diff)
	}
}

func TestTimesOfTheMachine(t *testing.T) {
	got, err := process.ParseTimes("cpu  100 10 50 1000 20 3 7 40 5 0\ncpu0 1 2 3\n")
	want := process.Times{Busy: 1700 * time.Millisecond, Idle: 10200 * time.Millisecond, Stolen: 400 * time.Millisecond}
	if err != nil || got != want {
		t.Errorf("times = %+v, %v; want %+v", got, err, want)
	}
	for _, text := range []string{"", "intr 1 2 3", "cpu 1 2 3", "cpu a b c d e f g h"} {
		if got, err := process.ParseTimes(text); err == nil {
			t.Errorf("times of %q = %+v, want an error", text, got)
		}
	}
}

func TestSharesOfTheMachine(t *testing.T) {
	before := process.Machine{Times: process.Times{Busy: time.Second, Idle: time.Second}, Own: time.Second / 2}
	now := process.Machine{
		Times: process.Times{Busy: 7 * time.Second, Idle: 3 * time.Second, Stolen: 2 * time.Second}, Own: 2 * time.Second,
	}
	// Ten seconds in all: six busy, of which 1.5 were this program and 0.5
	// children that still run; two stolen.
	got := now.Since(before, time.Second/2)
	if want := (process.Shares{Others: 0.4, Stolen: 0.2}); got != want {
		t.Errorf("shares = %+v, want %+v", got, want)
	}
	if got := before.Since(before, 0); got != (process.Shares{}) {
		t.Errorf("shares of no time = %+v", got)
	}
}

func TestModelOfTheProcessor(t *testing.T) {
	text := "processor\t: 0\nvendor_id\t: X\nmodel name\t: Some CPU @ 2.00GHz: fast\nprocessor\t: 1\n"
	if got, want := process.ParseModel(text), "Some CPU @ 2.00GHz: fast"; got != want {
		t.Errorf("model = %q, want %q", got, want)
	}
	if got := process.ParseModel("Hardware : board"); got != "unknown processor" {
		t.Errorf("model = %q", got)
	}
}
