package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/spillway-media/spillway/jobs"
	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

// batchWeight is how much is written in one transaction; an operation weighs
// about as many rows as it writes. More would save no more syncs worth having,
// and would make the first of them wait for the last.
const batchWeight = 64

var errClosed = errors.New("the job store is closed")

// tx is what an operation writes through, within a transaction. now is the
// database's clock when that began.
type tx struct {
	*statements
	now int64
}

// operation is one caller's part of a transaction. do may be called again after
// a rollback. When it answers one of the errors that package jobs names, it has
// written nothing; any other error undoes the whole transaction, and the others
// in it are done again without it.
type operation struct {
	ctx    context.Context //nolint:containedctx // its caller waits for done, and stops waiting for the lock by it
	weight int
	do     func(context.Context, *tx) error
	err    error // of do
	done   chan error
}

// writer carries out operations, many in one transaction, and answers each when
// that is on the disk.
type writer struct {
	// Immutable.
	ops     chan *operation
	closing chan struct{}
	stopped chan struct{}
	ended   chan struct{} // closed when the checkpointer has stopped
	offset  func() time.Duration
	log     *checkpointer

	// Owned by run.
	db         *sql.DB
	conn       *sql.Conn
	files      places
	statements *statements
	turn       *fileLock
	unmoved    int    // weight of what was written since the log was looked at
	commits    uint64 // read by tests when nobody writes
	written    uint64
}

// openWriter starts the goroutine that close ends.
func openWriter(ctx context.Context, path string, texts map[string]string, offset func() time.Duration) (*writer, error) {
	turn, err := openLock(path + "-turn.lock")
	if err != nil {
		return nil, err
	}
	// The writer waits for the lock by itself, because it has to look after its
	// callers' contexts meanwhile.
	db, err := connect(path, 1, "busy_timeout(0)", "cache_size(-32768)", "wal_autocheckpoint(0)")
	if err != nil {
		return nil, errors.Join(err, turn.close())
	}
	w := &writer{
		ops: make(chan *operation), closing: make(chan struct{}), stopped: make(chan struct{}), ended: make(chan struct{}),
		offset: offset, db: db, turn: turn, files: places{path: path},
	}
	// Another process may be recovering the log of one that was killed.
	err = retry(ctx, func() (bool, error) {
		var err error
		if w.conn, err = db.Conn(ctx); busy(err) {
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return nil, errors.Join(err, db.Close(), turn.close())
	}
	if w.log, err = newCheckpointer(path); err != nil {
		return nil, errors.Join(err, w.conn.Close(), db.Close(), turn.close())
	}
	w.statements = newStatements(texts, w.conn.PrepareContext)
	go w.run()
	go func() {
		defer close(w.ended)
		w.log.run(context.WithoutCancel(ctx), w)
	}()
	return w, nil
}

// close waits until whoever was accepted has its answer.
func (w *writer) close() error {
	select {
	case <-w.closing:
	default:
		close(w.closing)
	}
	<-w.stopped
	<-w.ended
	return errors.Join(w.log.db.Close(), w.statements.close(), w.conn.Close(), w.db.Close(), w.turn.close())
}

// write has do carried out as a part of a transaction, and answers when that is
// durable. A context that ends before do has begun ends the call; after that the
// call waits for the truth.
func write[T any](ctx context.Context, s *Store, weight int, do func(context.Context, *tx) (T, error)) (T, error) {
	var out T
	if err := ctx.Err(); err != nil {
		return out, err
	}
	op := &operation{ctx: ctx, weight: weight, done: make(chan error, 1)}
	op.do = func(ctx context.Context, t *tx) (err error) {
		out, err = do(ctx, t)
		return err
	}
	select {
	case s.writer.ops <- op:
	case <-ctx.Done():
		return out, ctx.Err()
	case <-s.writer.closing:
		return out, unavailable(errClosed)
	}
	err := <-op.done
	return out, unavailable(err)
}

// run never ends a transaction half way: its own context does not end.
func (w *writer) run() {
	defer close(w.stopped)
	ctx := context.Background()
	for {
		select {
		case <-w.closing:
			return
		case pause := <-w.log.pauses:
			pause()
		case op := <-w.ops:
			w.serve(ctx, w.gather(op))
		}
	}
}

// gather takes who else is there already, up to the weight of a batch. It steps
// aside first, so that those who were answered just now and ask for more come
// into this transaction too, and not into one that alternates with theirs.
func (w *writer) gather(first *operation) []*operation {
	batch := []*operation{first}
	stepsAside := 2
	for weight := first.weight; weight < batchWeight; {
		select {
		case op := <-w.ops:
			batch = append(batch, op)
			weight += op.weight
			continue
		default:
		}
		if stepsAside == 0 {
			return batch
		}
		stepsAside--
		runtime.Gosched()
	}
	return batch
}

// serve answers every operation of the batch.
func (w *writer) serve(ctx context.Context, batch []*operation) {
	for len(batch) > 0 {
		batch = w.begin(ctx, batch)
		if len(batch) == 0 {
			return
		}
		failed, err := w.perform(ctx, batch)
		if failed == nil && err == nil {
			err = w.commit(ctx)
		}
		if err == nil {
			w.count(batch)
			answer(batch, nil)
			return
		}
		w.rollback(ctx)
		if failed == nil { // the transaction as a whole, so nobody's alone
			answer(batch, err)
			return
		}
		failed.done <- err
		batch = without(batch, failed)
	}
}

// count keeps the log from growing.
func (w *writer) count(batch []*operation) {
	w.commits++
	w.written += uint64(len(batch))
	w.unmoved += commitWeight
	for _, op := range batch {
		w.unmoved += op.weight
	}
	if w.unmoved >= checkpointWeight {
		w.unmoved = 0
		w.log.tell()
	}
}

// answer tells each what became of it: err, or what its do said.
func answer(batch []*operation, err error) {
	for _, op := range batch {
		if err != nil {
			op.done <- err
		} else {
			op.done <- op.err
		}
	}
}

func without(batch []*operation, gone *operation) []*operation {
	var rest []*operation
	for _, op := range batch {
		if op != gone {
			rest = append(rest, op)
		}
	}
	return rest
}

// perform runs the operations. failed is the one whose error undoes them all.
func (w *writer) perform(ctx context.Context, batch []*operation) (failed *operation, err error) {
	if err := w.files.stay(); err != nil {
		return nil, err
	}
	t := &tx{statements: w.statements}
	if t.now, err = clock(ctx, w.statements, w.offset); err != nil {
		return nil, err
	}
	for _, op := range batch {
		op.err = op.do(ctx, t)
		if op.err != nil && !refusal(op.err) {
			return op, op.err
		}
	}
	return nil, nil
}

// refusal says whether err is an answer, given before anything was written.
func refusal(err error) bool {
	return errors.Is(err, jobs.ErrNotFound) || errors.Is(err, jobs.ErrLeaseLost) || errors.Is(err, jobs.ErrState)
}

// begin waits for the right to write, and answers those whose context ends
// meanwhile. It returns who is left; none when there is no transaction.
//
// SQLite hands its lock to whoever asks at the right moment, which a process that
// is always writing is, and others starve. So everybody first takes a turn, which
// is given back as soon as the lock is had: who comes back after a commit finds
// the turn with somebody who waits. It is a courtesy, not a lock: who has the turn
// and stops, a process that is being debugged, say, is not waited for.
func (w *writer) begin(ctx context.Context, batch []*operation) []*operation {
	var mine bool
	patience := 20 // tries, which take about 80 ms
	err := retry(ctx, func() (bool, error) {
		if !mine && patience > 0 {
			patience--
			var err error
			if mine, err = w.turn.try(); err != nil {
				return false, err
			}
		}
		if mine || patience == 0 {
			if begun, err := w.tryBegin(ctx); begun || err != nil {
				return begun, err
			}
		}
		batch = w.stillWanted(batch)
		return len(batch) == 0, nil
	})
	if mine {
		err = errors.Join(err, w.turn.unlock())
	}
	if err != nil {
		w.rollback(ctx)
		answer(batch, err)
		return nil
	}
	return batch
}

// stillWanted drops and answers those who wait no more, which is everybody when
// the store is being closed.
func (w *writer) stillWanted(batch []*operation) []*operation {
	var rest []*operation
	for _, op := range batch {
		select {
		case <-op.ctx.Done():
			op.done <- op.ctx.Err()
		case <-w.closing:
			op.done <- errClosed
		default:
			rest = append(rest, op)
		}
	}
	return rest
}

func (w *writer) tryBegin(ctx context.Context) (bool, error) {
	_, err := w.statements.exec(ctx, "begin")
	if busy(err) {
		return false, nil
	}
	return err == nil, err
}

func (w *writer) commit(ctx context.Context) error {
	_, err := w.statements.exec(ctx, "commit")
	return err
}

// rollback is also called when SQLite has rolled back by itself; there is nothing
// to be told then.
func (w *writer) rollback(ctx context.Context) { _, _ = w.statements.exec(ctx, "rollback") }

// clock reads the database's clock in milliseconds.
func clock(ctx context.Context, s *statements, offset func() time.Duration) (int64, error) {
	var now int64
	err := s.row(ctx, "clock", nil, &now)
	return now + offset().Milliseconds(), err
}

// busy says whether another connection was in the way.
func busy(err error) bool {
	fault, ok := errors.AsType[*driver.Error](err)
	return ok && (fault.Code()&0xff == codes.SQLITE_BUSY || fault.Code()&0xff == codes.SQLITE_LOCKED)
}

// unavailable marks what was not the request's fault.
func unavailable(err error) error {
	fault, ok := errors.AsType[*driver.Error](err)
	constraint := ok && fault.Code()&0xff == codes.SQLITE_CONSTRAINT
	if err == nil || constraint || refusal(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w: %w", jobs.ErrUnavailable, err)
}
