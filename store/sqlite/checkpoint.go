package sqlite

import (
	"context"
	"database/sql"
)

// SQLite would move what is in its log into the file within the commit that
// filled the log, and who waits for that commit would wait for many megabytes.
// Here another connection moves them while writing goes on, and the writer only
// waits for the few pages that came meanwhile; after that the log begins anew.
const (
	// checkpointWeight is after how much written the log is looked at.
	checkpointWeight = 1500
	// commitWeight is what a commit writes besides its rows: the same few pages
	// of indexes for one row as for many.
	commitWeight = 4
	// longLog is from how many pages on it is to begin anew: 16 MB.
	longLog = 4000
)

// checkpointer moves the log whenever the writer has filled some of it.
type checkpointer struct {
	db     *sql.DB
	filled chan struct{} // has room for one
	pauses chan func()   // what the writer is to do between two transactions
}

func newCheckpointer(path string) (*checkpointer, error) {
	db, err := connect(path, 1, "busy_timeout(0)")
	if err != nil {
		return nil, err
	}
	return &checkpointer{db: db, filled: make(chan struct{}, 1), pauses: make(chan func())}, nil
}

// tell never blocks: one sign is enough.
func (c *checkpointer) tell() {
	select {
	case c.filled <- struct{}{}:
	default:
	}
}

// run works until the writer has stopped. A checkpoint that fails, most often
// because another process is at it, is made up for by the next.
func (c *checkpointer) run(ctx context.Context, w *writer) {
	for {
		select {
		case <-w.stopped:
			return
		case <-c.filled:
		}
		var busy, pages, moved int
		err := c.db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &pages, &moved)
		if err != nil || pages < longLog {
			continue
		}
		select {
		case <-w.stopped:
			return
		case c.pauses <- func() { w.restartLog(ctx) }:
		}
	}
}

// restartLog moves what is left and lets the log begin anew. It holds the turn,
// so that no other process adds to the log meanwhile. When one is at it already,
// or reads what is to be overwritten, the log goes on growing until the next time.
func (w *writer) restartLog(ctx context.Context) {
	if mine, err := w.turn.try(); !mine || err != nil {
		return
	}
	var busy, pages, moved int
	_ = w.conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(RESTART)").Scan(&busy, &pages, &moved)
	_ = w.turn.unlock()
}
