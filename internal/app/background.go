package app

import (
	"context"
	"errors"
	"sync"
	"time"
)

// rear is what goes on behind the servers for as long as anything is served.
type rear struct {
	// endFirst ends the streams that would keep an orderly stop waiting, and the
	// scheduler, for which a worker that drains would be reason to start another.
	endFirst func()
	stop     func()
	wait     sync.WaitGroup
	errs     chan error
}

// startRear starts the service with its workers, the watch over its stores,
// what the edge does between requests, what keeps jobs in order, and the scheduler.
func (p *program) startRear(ctx context.Context) *rear {
	lasting, stop := context.WithCancel(context.WithoutCancel(ctx))
	first, endFirst := context.WithCancel(lasting)
	r := &rear{stop: stop, endFirst: endFirst, errs: make(chan error, 4)}
	r.wait.Go(func() { r.errs <- p.service.Run(lasting) })
	r.wait.Go(func() { r.errs <- watchStores(lasting, p.stores, p.service) })
	r.wait.Go(func() { r.errs <- p.edge.Run(first) })
	if p.backlog != nil {
		r.wait.Go(func() { r.errs <- p.backlog.run(lasting) })
	}
	if p.backlog != nil && p.backlog.file != nil {
		r.wait.Go(func() { p.backlog.schedule(first) })
	}
	return r
}

// end stops all of it and gives what went wrong.
func (r *rear) end() error {
	r.stop()
	r.wait.Wait()
	close(r.errs)
	var all []error
	for err := range r.errs {
		all = append(all, err)
	}
	return errors.Join(all...)
}

// labour is the worker at work.
type labour struct {
	stop func()
	// ended is closed when the worker has, and what it answered is in err;
	// broken is closed, too, when that is something.
	ended, broken chan struct{}
	err           error
}

// startWork starts the worker, if there is one. It is told to stop by a
// context of its own, because a drain has an order.
func (p *program) startWork(ctx context.Context) *labour {
	l := &labour{stop: func() {}, ended: make(chan struct{}), broken: make(chan struct{})}
	if p.backlog == nil || p.backlog.worker == nil {
		close(l.ended)
		return l
	}
	claiming, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	patience := time.Duration(0) // Up has pictures to serve meanwhile
	if p.role == Work {
		patience = startPatience
	}
	go func() {
		l.err = p.backlog.work(claiming, p.cfg.Hurry, patience)
		if l.err != nil {
			close(l.broken)
		}
		close(l.ended)
	}()
	return l
}

// enough is what ends the program from within. In Work there is nothing to do
// without the worker; in Up pictures are served on when somebody has drained it,
// but one that is broken takes a new process.
func (p *program) enough(l *labour) <-chan struct{} {
	if p.role == Work {
		return l.ended
	}
	return l.broken
}
