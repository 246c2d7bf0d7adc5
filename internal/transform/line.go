package transform

import (
	"sync"
	"time"

	"github.com/spillway-media/spillway/internal/media"
)

// line keeps account of who waits and who works. It decides nothing but how
// long the line may get: turns are given by the pool and its gate.
type line struct {
	jobs, places int // at work at once; at work and in line together

	mu      sync.Mutex
	waiting int
	working int
	since   time.Time // when somebody last began to wait behind nobody
	moved   time.Time // when work last began or ended
	done    uint64
	refused uint64
	pace    time.Duration
}

func newLine(jobs, queue int) *line {
	return &line{jobs: jobs, places: jobs + queue}
}

// enter takes a place, which began and ended, or left, give back.
func (l *line) enter() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting+l.working >= l.places {
		l.refused++
		return media.Errorf(media.CodeOverloaded, "The server is busy: %d requests wait already.", l.waiting)
	}
	if l.waiting == 0 {
		l.since = time.Now()
	}
	l.waiting++
	return nil
}

// left is for those that got no turn. Only some were refused: what was too
// large, or came too late, never had a place in line.
func (l *line) left(refused bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting--
	if refused {
		l.refused++
	}
}

func (l *line) began(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting--
	l.working++
	l.moved = now
}

func (l *line) ended(now time.Time, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.working--
	l.done++
	l.moved = now
	// An average over about eight jobs follows a change of load without
	// jumping at a single slow picture.
	l.pace += (took - l.pace) / 8
}

// lineStats is one consistent look at the line.
type lineStats struct {
	waiting, working int
	refused, done    uint64
	since, moved     time.Time // since is of use while somebody waits
	pace             time.Duration
}

func (l *line) stats() lineStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return lineStats{
		waiting: l.waiting, working: l.working, refused: l.refused, done: l.done,
		since: l.since, moved: l.moved, pace: l.pace,
	}
}

// drain estimates how long the present line takes to empty: what a refused
// client should wait.
func (l *line) drain() time.Duration {
	s := l.stats()
	return s.pace * time.Duration(s.waiting+s.working) / time.Duration(l.jobs)
}
