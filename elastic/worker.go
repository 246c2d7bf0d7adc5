package elastic

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// handlerWorker is the worker without state.
type handlerWorker[T any] struct{ handle Handler[T] }

func (w handlerWorker[T]) Do(ctx context.Context, job T) error { return w.handle(ctx, job) }
func (w handlerWorker[T]) Close()                              {}

// work is a worker's goroutine. Whatever ends it, even runtime.Goexit in a
// handler, it reports its exit as the last thing.
func (p *DynamicScaler[T]) work(s *slot[T]) {
	defer p.left(s)
	defer s.cancel(context.Canceled)
	w, err := p.setUp(s)
	if err != nil {
		p.failed(s, err)
		return
	}
	defer p.tearDown(s, w)
	for {
		e := p.next(s)
		if e == nil || !p.perform(s, w, e) {
			return
		}
	}
}

// left hands the slot back to the loop; only now may it leave the registry.
func (p *DynamicScaler[T]) left(s *slot[T]) {
	p.mu.Lock()
	s.exited = true
	p.mu.Unlock()
	p.poke()
}

func (p *DynamicScaler[T]) setUp(s *slot[T]) (w Worker[T], err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &PanicError{Value: r, Stack: debug.Stack()}
		}
	}()
	if p.cfg.Handler != nil {
		return handlerWorker[T]{p.cfg.Handler}, nil
	}
	w, err = p.cfg.Factory(s.ctx, s.idx)
	if err == nil && w == nil {
		err = errors.New("the factory made neither a worker nor an error")
	}
	return w, err
}

func (p *DynamicScaler[T]) tearDown(s *slot[T], w Worker[T]) {
	defer func() {
		if r := recover(); r != nil {
			p.failed(s, fmt.Errorf("close: %w", &PanicError{Value: r, Stack: debug.Stack()}))
		}
	}()
	w.Close()
}

// next blocks until there is a job for this worker, and returns nil when it is
// to leave. With a backlog it takes the next job at once; the select is where
// an idle worker rests, and the only place where it can be asked to go. (The
// end of its context need not be listened for: retirement comes first.)
func (p *DynamicScaler[T]) next(s *slot[T]) *entry[T] {
	e, leave := p.take(s, false)
	for e == nil && !leave {
		select {
		case <-s.retire:
			return nil
		case <-p.wake:
			e, leave = p.take(s, true)
		}
	}
	return e
}

// take gives the worker the job whose turn it is, if any. Retirement is marked
// under the same lock, so a worker that was asked to leave takes no job, even
// when the select happened to choose the job. woken tells that the caller has
// spent a wake-up, which is passed on when it cannot be used.
func (p *DynamicScaler[T]) take(s *slot[T], woken bool) (e *entry[T], leave bool) {
	p.mu.Lock()
	if s.retiring {
		p.mu.Unlock()
		if woken {
			p.rouse()
		}
		return nil, true
	}
	if p.queue.length == 0 {
		p.mu.Unlock()
		return nil, false
	}
	// The end of the last job is recent enough for the start of the next.
	now := s.ended
	if woken || now == 0 {
		now = p.now()
	}
	if e = p.queue.take(now); e != nil {
		e.state.Store(running)
		s.current.Store(e)
		s.started.Store(now)
	}
	p.mu.Unlock()
	if e != nil && !woken {
		// The job's own wake-up would only find an empty queue.
		select {
		case <-p.wake:
		default:
		}
	}
	return e, false
}

// perform does one job and reports whether the worker is fit for another.
func (p *DynamicScaler[T]) perform(s *slot[T], w Worker[T], e *entry[T]) (fit bool) {
	var err error
	returned := false
	defer func() {
		if !returned {
			if r := recover(); r != nil {
				err = &PanicError{Value: r, Stack: debug.Stack()}
			} else {
				err = ErrWorkerExited
			}
			s.tally.panicked.Add(1)
		}
		p.finish(s, e, err)
	}()
	if gone := e.caller.Err(); gone != nil {
		err = fmt.Errorf("given up before it began: %w", context.Cause(e.caller))
	} else {
		err = p.do(w, e)
	}
	returned = true
	return err == nil || !errors.Is(err, ErrReplaceWorker)
}

func (p *DynamicScaler[T]) do(w Worker[T], e *entry[T]) error {
	if p.cfg.CPUBound {
		leave, err := EnterCPU(e, 0)
		if err != nil {
			return err
		}
		defer leave()
	}
	return w.Do(e, e.job)
}

func (p *DynamicScaler[T]) finish(s *slot[T], e *entry[T], err error) {
	s.ended = p.now()
	spent := s.ended - s.started.Load()
	s.started.Store(0)
	s.current.Store(nil)
	s.tally.busy.Add(spent)
	if err == nil {
		s.tally.done.Add(1)
	} else {
		s.tally.failed.Add(1)
	}
	mine := e.state.CompareAndSwap(running, ended)
	e.leaveCPU() // in case the handler did not
	if mine {
		e.end(err)
	}
}
