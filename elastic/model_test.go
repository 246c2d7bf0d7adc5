package elastic_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/elastic"
)

// model is what a pool must look like from outside, told in a few rules: jobs
// begin in the order of their turns, no worker idles while a job waits, limits
// hold, and every job ends once, in the way that was asked for.
type model struct {
	t     *testing.T
	pool  *elastic.DynamicScaler[*modelJob]
	began time.Time
	low   int // MinWorkers
	high  int // MaxWorkers
	jobs  []*modelJob
	short time.Time // since when fewer live than must

	mu sync.Mutex
}

const (
	modelAgeing   = 100 * time.Millisecond
	modelCooldown = 300 * time.Millisecond
	modelMost     = 6
)

type modelJob struct {
	seq       int
	class     int
	arrived   time.Duration
	length    time.Duration
	panics    bool
	ticket    *elastic.Ticket
	withdrawn bool

	model *model
	ran   int // guarded by model.mu
	seen  bool
}

func (j *modelJob) turn() time.Duration { return j.arrived + time.Duration(j.class)*modelAgeing }

func byTurn(a, b *modelJob) int {
	return cmp.Or(cmp.Compare(a.turn(), b.turn()), cmp.Compare(a.class, b.class), cmp.Compare(a.seq, b.seq))
}

func (j *modelJob) do(ctx context.Context) error {
	j.model.mu.Lock()
	j.ran++
	j.model.mu.Unlock()
	select {
	case <-time.After(j.length):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if j.panics {
		panic(j.seq)
	}
	return nil
}

// waiting is the jobs that must be in the queue.
func (m *model) waiting() []*modelJob {
	var all []*modelJob
	for _, j := range m.jobs {
		if !j.seen && !j.withdrawn {
			all = append(all, j)
		}
	}
	slices.SortFunc(all, byTurn)
	return all
}

// settle lets everything happen that can, and compares.
func (m *model) settle() {
	synctest.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	waiting := m.waiting()
	began := 0
	for _, j := range waiting {
		if j.ran > 0 {
			began++
		}
	}
	for _, j := range waiting[:began] { // the first in turn, and no other
		if j.ran != 1 {
			m.t.Fatalf("job %d ran %d times while others that came after it began", j.seq, j.ran)
		}
		j.seen = true
	}
	s := m.pool.Stats()
	if s.Queued != len(waiting)-began {
		m.t.Fatalf("%d jobs are queued, the model has %d", s.Queued, len(waiting)-began)
	}
	if s.Queued > 0 && s.Busy < s.Live {
		m.t.Fatalf("%d jobs wait while %d of %d workers are busy", s.Queued, s.Busy, s.Live)
	}
	if s.Total > modelMost || s.Live > m.high || s.Live+s.Retiring != s.Total {
		m.t.Fatalf("live %d retiring %d total %d, at most %d may live", s.Live, s.Retiring, s.Total, m.high)
	}
	m.floor(s)
}

// floor: only a crash loop may keep the pool below it, and for at most 1 s.
func (m *model) floor(s elastic.Stats) {
	want := min(m.low, m.high-s.Retiring)
	if s.Live >= want {
		m.short = time.Time{}
		return
	}
	if m.short.IsZero() {
		m.short = time.Now()
	}
	if s.Panicked <= 5 || time.Since(m.short) > time.Second {
		m.t.Fatalf("live %d retiring %d after %d panics, for %s; at least %d must live",
			s.Live, s.Retiring, s.Panicked, time.Since(m.short), want)
	}
}

func (m *model) submit(class int, length time.Duration, panics bool) {
	j := &modelJob{seq: len(m.jobs), class: class, arrived: time.Since(m.began), length: length, panics: panics, model: m}
	ticket, err := m.pool.Enqueue(context.Background(), j, elastic.Class(class))
	if err != nil {
		m.t.Fatal(err)
	}
	j.ticket = ticket
	m.jobs = append(m.jobs, j)
}

func (m *model) withdraw(which int) {
	if len(m.jobs) == 0 {
		return
	}
	j := m.jobs[which%len(m.jobs)]
	if done := j.ticket.Withdraw(); done == (j.seen || j.withdrawn) {
		m.t.Fatalf("withdrawing job %d was answered %t; begun %t, withdrawn before %t", j.seq, done, j.seen, j.withdrawn)
	}
	j.withdrawn = j.withdrawn || !j.seen
}

func (m *model) limits(low, high int) {
	m.low, m.high = low, high
	if err := m.pool.SetLimits(low, high); err != nil {
		m.t.Fatal(err)
	}
}

// play carries out one event, told by two bytes.
func (m *model) play(what, how byte) {
	switch what % 8 {
	case 0, 1, 2:
		m.submit(int(how)%3, time.Duration(how)*3*time.Millisecond, false)
	case 3:
		m.submit(int(how)%3, time.Duration(how)*time.Millisecond, true)
	case 4:
		m.withdraw(int(how))
	case 5:
		high := 1 + int(how)%modelMost
		m.limits(1+int(how/16)%high, high)
	default:
		// In small steps, so that the order of beginnings is seen.
		for range int(how) % 32 {
			pass(7 * time.Millisecond)
			m.settle()
		}
	}
	m.settle()
}

// end shuts down with some patience and checks every outcome.
func (m *model) end(patience time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	before := time.Now()
	_ = m.pool.Shutdown(ctx)
	if spent := time.Since(before); spent > patience {
		m.t.Fatalf("shutdown took %s, longer than %s", spent, patience)
	}
	for _, j := range m.jobs {
		select {
		case <-j.ticket.Done():
		default:
			m.t.Fatalf("job %d never ended", j.seq)
		}
		err := j.ticket.Err()
		cut := errors.Is(err, elastic.ErrShuttingDown)
		switch {
		case j.withdrawn:
			if j.ran != 0 || !errors.Is(err, elastic.ErrWithdrawn) {
				m.t.Fatalf("withdrawn job %d ran %d times and ended with %v", j.seq, j.ran, err)
			}
		case cut && j.ran <= 1:
		case j.ran != 1 || j.panics != (err != nil):
			m.t.Fatalf("job %d ran %d times and ended with %v", j.seq, j.ran, err)
		}
	}
	m.turns()
}

// turns checks that the signal never undid within the cooldown what it did,
// but for jobs that waited four times too long.
func (m *model) turns() {
	var last elastic.Decision
	for _, d := range m.pool.Decisions() {
		bySignal := d.Limit == elastic.LimitNone && d.Changed > 0 && !d.Forced()
		if !bySignal {
			continue
		}
		urgent := d.Action == elastic.Grow && d.Wait > 200*time.Millisecond
		if last.Changed > 0 && last.Action != d.Action && !urgent && d.At.Sub(last.At) < modelCooldown {
			m.t.Fatalf("%s %s after %s", d.Action, d.At.Sub(last.At), last.Action)
		}
		last = d
	}
}

func FuzzScaler(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 1, 0, 2, 0, 200, 6, 31, 5, 80, 0, 255, 6, 31, 4, 2, 7, 31})
	f.Add([]byte{0, 200, 0, 201, 0, 202, 3, 1, 3, 2, 3, 3, 6, 30, 5, 0, 6, 30, 5, 255, 7, 31, 7, 31})
	f.Add([]byte{3, 0, 3, 0, 3, 0, 3, 0, 3, 0, 3, 0, 3, 0, 3, 0, 6, 31, 0, 9, 6, 31, 6, 31})
	f.Fuzz(func(t *testing.T, events []byte) {
		if len(events) > 400 {
			events = events[:400]
		}
		synctest.Test(t, func(t *testing.T) {
			m := &model{t: t, began: time.Now(), low: 1, high: modelMost}
			m.pool = run(t, elastic.Config[*modelJob]{
				Handler:    func(ctx context.Context, j *modelJob) error { return j.do(ctx) },
				MinWorkers: m.low, MaxWorkers: m.high, Classes: 3, Ageing: modelAgeing,
				CheckInterval: 20 * time.Millisecond, ScaleCooldown: modelCooldown, KeepIdle: 200 * time.Millisecond,
				Signal: elastic.Signal(len(events) % 3),
			})
			m.settle()
			for len(events) >= 2 {
				m.play(events[0], events[1])
				events = events[2:]
			}
			patience := time.Second
			if len(events) == 1 {
				patience = time.Duration(events[0]) * time.Millisecond
			}
			m.end(patience)
		})
	})
}
