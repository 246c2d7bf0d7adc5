package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// spinner burns a stated amount of CPU time. It counts turns and asks no clock,
// as a codec does: the scheduler may move it, and a busy neighbour makes it slow.
type spinner struct {
	turns float64 // a nanosecond
	sink  atomic.Uint64
}

const calibration = 60 * time.Millisecond

// newSpinner measures with every core spinning, because two virtual cores may
// be one real one and a turn then takes longer than it does alone.
func newSpinner(cores int) (*spinner, error) {
	s := &spinner{}
	type answer struct {
		turns float64
		err   error
	}
	answers := make(chan answer)
	for range cores {
		go func() {
			turns, err := s.calibrate()
			answers <- answer{turns, err}
		}()
	}
	var failed error
	for range cores {
		a := <-answers
		failed = errors.Join(failed, a.err)
		s.turns += a.turns / float64(cores)
	}
	return s, failed
}

// calibrate finds the turns in a nanosecond of this thread's own CPU time: the
// median of several goes, so that one interruption does not count.
func (s *spinner) calibrate() (float64, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const turns = 2_000_000
	var speeds []float64
	for spent := time.Duration(0); spent < calibration || len(speeds) < 5; {
		before, err := threadCPU()
		if err != nil {
			return 0, err
		}
		s.turn(turns)
		after, err := threadCPU()
		if err != nil {
			return 0, err
		}
		spent += after - before
		speeds = append(speeds, turns/float64(max(after-before, 1)))
	}
	slices.Sort(speeds)
	return speeds[len(speeds)/2], nil
}

// spin burns about d.
func (s *spinner) spin(d time.Duration) { s.turn(int(s.turns * float64(d))) }

// turn stores its result so that the compiler cannot leave the loop out.
func (s *spinner) turn(n int) {
	x := uint64(n) | 1
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	s.sink.Store(x)
}

func threadCPU() (time.Duration, error) {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &at); err != nil {
		return 0, fmt.Errorf("read thread CPU time: %w", err)
	}
	return time.Duration(at.Nano()), nil
}
