package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// electionName is what schedulers of one database compete for.
	electionName = "scheduler"
	// electEvery is how soon another scheduler takes over, and how often the one
	// that acts shows that it is there.
	electEvery = 5 * time.Second
	// usualInterval is for a configuration without one.
	usualInterval = time.Minute
	// afterwards is how long Run waits for calls that did not come back.
	afterwards = 5 * time.Second
)

// Run ticks whenever it is the elected one, until ctx ends. It refuses to begin
// with an enabled provider that is not in the program. No fault of a database,
// of Redis or of a provider ends it.
func (s *Scheduler) Run(ctx context.Context) error {
	if missing := s.missing(s.Config()); len(missing) > 0 {
		return fmt.Errorf("start scheduler: this program has no provider %s", strings.Join(missing, ", "))
	}
	defer s.calls.wait(afterwards)
	for ctx.Err() == nil {
		e, err := s.elect(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			s.guard(ctx, fmt.Errorf("stand for election: %w", err))
		case e == nil:
			s.stepDown(ctx)
			pause(ctx, electEvery)
		default:
			s.Log.Info("this process schedules machines")
			err := s.whileElected(ctx, e, s.loop)
			if ctx.Err() == nil {
				s.Log.Warn("scheduling stops here", "error", err)
			}
		}
	}
	return nil
}

// missing are enabled providers that the program does not have.
func (s *Scheduler) missing(cfg Config) []string {
	names := sortedKeys(cfg.Providers)
	return slices.DeleteFunc(names, func(name string) bool { return !cfg.Providers[name].Enabled || s.Providers[name] != nil })
}

// elect tries once. An election that is won when nobody waits for it any more is
// given back, or nobody could win it.
func (s *Scheduler) elect(ctx context.Context) (Election, error) {
	return bounded(ctx, s.calls, "elector", databaseTime, func(ctx context.Context) (Election, error) {
		e, err := s.Elector.Elect(ctx, electionName)
		if e != nil && ctx.Err() != nil {
			e.Release()
			return nil, fmt.Errorf("elect too late: %w", ctx.Err())
		}
		return e, err
	})
}

// errLost is why a tick is broken off.
var errLost = errors.New("the election was lost")

// whileElected runs f for as long as the election holds, and releases it.
func (s *Scheduler) whileElected(ctx context.Context, e Election, f func(ctx context.Context, held func(context.Context) error) error) error {
	defer e.Release()
	s.tally.leads(true)
	defer s.tally.leads(false)
	clear(s.listed)
	ctx, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel(nil)
	held := func(ctx context.Context) error {
		ctx, done := context.WithTimeout(ctx, electEvery)
		defer done()
		return e.Held(ctx)
	}
	watching.Go(func() {
		for pause(ctx, electEvery) {
			if err := held(ctx); err != nil && ctx.Err() == nil {
				cancel(fmt.Errorf("%w: %w", errLost, err))
			}
		}
	})
	if err := f(ctx, held); err != nil {
		return err
	}
	if cause := context.Cause(ctx); cause != nil && errors.Is(cause, errLost) {
		return cause
	}
	return nil
}

// loop ticks at the interval of the configuration, from one start to the next.
func (s *Scheduler) loop(ctx context.Context, held func(context.Context) error) error {
	for {
		next, soon := time.NewTimer(s.interval()), time.NewTimer(min(s.interval(), endEvery))
		r, err := s.tick(ctx, held)
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("a tick was not recorded", "error", err)
		}
		if s.pace(r) < s.interval() {
			next, soon = soon, next
		}
		soon.Stop()
		select {
		case <-next.C:
		case <-ctx.Done():
			next.Stop()
			return nil
		}
	}
}

// endEvery is how soon a tick follows that ends machines at the daily limit, so
// that a call that failed is made again long before the time is used up that the
// limit allows for ending them.
const endEvery = 15 * time.Second

// pace is the time from a tick to the next.
func (s *Scheduler) pace(r Report) time.Duration {
	for _, d := range r.Decisions {
		if d.Rule == ruleDaily {
			return min(s.interval(), endEvery)
		}
	}
	costs := func(w Worker) bool { return w.Cloud() && !r.Snapshot.ended(w) }
	if r.Snapshot.Latch != nil && (slices.ContainsFunc(r.Snapshot.Workers, costs) || len(r.Snapshot.strays()) > 0) {
		return min(s.interval(), endEvery)
	}
	return s.interval()
}

func (s *Scheduler) interval() time.Duration {
	if d := s.Config().EvaluationInterval; d > 0 {
		return d
	}
	return usualInterval
}

// guard is the tick of one that was the leader and cannot reach the database:
// it starts nothing, but money goes on being counted, and the daily limit holds.
func (s *Scheduler) guard(ctx context.Context, why error) {
	if s.last == nil {
		s.Log.Warn("the scheduler is not elected", "error", why)
		pause(ctx, electEvery)
		return
	}
	cfg, began := s.Config(), s.Clock()
	o := &observed{local: began}
	s.recall(cfg, o, why)
	s.askSettings(&o.snap)
	s.askProviders(ctx, cfg, &o.snap, false)
	clampTimes(&o.snap)
	if ctx.Err() != nil {
		return // what could not be seen by now says nothing
	}
	r := s.decide(cfg, o)
	s.act(ctx, cfg, o, r.Decisions, func(context.Context) error { return errLost })
	s.tell(r)
	s.keep(cfg, o, r)
	s.tally.count(began, s.Clock(), cfg, r, false)
	pause(ctx, min(s.pace(r), electEvery*2))
}

// stepDown forgets what only the leader may know: another one acts now.
func (s *Scheduler) stepDown(ctx context.Context) {
	if err := s.settleLatch(ctx); err != nil {
		s.Log.Warn("the daily limit was reached, and that is not written down yet", "error", err)
	}
	s.last, s.memory, s.unsaved = nil, nil, nil
	clear(s.answered)
}

// Once does one round as the elected scheduler, and ErrNotLeader when another
// one is.
func (s *Scheduler) Once(ctx context.Context) (Report, error) {
	if missing := s.missing(s.Config()); len(missing) > 0 {
		return Report{}, fmt.Errorf("tick once: this program has no provider %s", strings.Join(missing, ", "))
	}
	defer s.calls.wait(afterwards)
	e, err := s.elect(ctx)
	if err != nil {
		return Report{}, fmt.Errorf("stand for election: %w", err)
	}
	if e == nil {
		return Report{}, ErrNotLeader
	}
	var r Report
	err = s.whileElected(ctx, e, func(ctx context.Context, held func(context.Context) error) (err error) {
		r, err = s.tick(ctx, held)
		return err
	})
	return r, err
}

// askAgain is how often Ask looks whether the leader has answered.
const askAgain = 2 * time.Second

// Ask files what an operator wants, and answers the decisions that came of it:
// of the leader's next tick, or of one of its own when there is no leader.
func (s *Scheduler) Ask(ctx context.Context, desk Desk, r Request) ([]Decision, error) {
	if err := desk.Ask(ctx, r); err != nil {
		return nil, fmt.Errorf("file request %s: %w", r.ID, err)
	}
	for {
		report, err := s.Once(ctx)
		if err != nil && !errors.Is(err, ErrNotLeader) {
			return nil, fmt.Errorf("answer request %s: %w", r.ID, err)
		}
		own := report.Decisions
		if err != nil {
			if own, err = desk.Decisions(ctx, DecisionFilter{Limit: 200}); err != nil {
				return nil, fmt.Errorf("look for the answer to request %s: %w", r.ID, err)
			}
		}
		answers := slices.DeleteFunc(own, func(d Decision) bool { return d.Request != r.ID })
		if len(answers) > 0 {
			return answers, nil
		}
		if !pause(ctx, askAgain) {
			return nil, fmt.Errorf("wait for the answer to request %s: %w", r.ID, context.Cause(ctx))
		}
	}
}

// pause waits, and tells whether ctx still lives.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
