package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spillway-media/spillway/jobs"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

// readers is how many connections read at once.
const readers = 4

// Store is a jobs.Store in a file. Several processes may have one file open.
type Store struct {
	// Immutable after Open.
	path   string // absolute
	offset func() time.Duration
	db     *sql.DB // reads
	reads  *statements
	writer *writer

	mu        sync.Mutex // guards all below
	elections map[*election]struct{}
	closed    bool
}

var _ jobs.Store = (*Store)(nil)

// Option is a choice that only tests make.
type Option func(*Store)

// WithClockOffset moves the database's clock for this Store, so that tests need
// not wait for leases and delays. Stores of one file must be given the same.
func WithClockOffset(offset func() time.Duration) Option {
	return func(s *Store) { s.offset = offset }
}

// Open opens the file at path, makes it when there is none, and brings it to the
// schema of this release. Whoever opens a file must Close it.
func Open(ctx context.Context, path string, log *slog.Logger, options ...Option) (*Store, error) {
	absolute, err := target(path)
	if err != nil {
		return nil, fmt.Errorf("open job store: %w", err)
	}
	s := &Store{path: absolute, offset: func() time.Duration { return 0 }, elections: map[*election]struct{}{}}
	for _, option := range options {
		option(s)
	}
	if err := s.open(ctx, log); err != nil {
		return nil, fmt.Errorf("open job store: %w", errors.Join(err, s.Close()))
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, log *slog.Logger) error {
	if err := createFile(s.path); err != nil {
		return err
	}
	from, to, err := migrate(ctx, s.path)
	if err != nil {
		return err
	}
	if from != to {
		log.Info("job store migrated", "from", from, "to", to)
	}
	texts, err := readStatements()
	if err != nil {
		return err
	}
	if s.db, err = connect(s.path, readers, "query_only(1)", "busy_timeout(100)", "cache_size(-8192)"); err != nil {
		return err
	}
	s.reads = newStatements(texts, s.db.PrepareContext)
	s.writer, err = openWriter(ctx, s.path, texts, s.offset)
	return err
}

// target follows symbolic links, as SQLite does, so that whoever opens the file
// by another name has the same locks beside it. There need be no file yet.
func target(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if file, err := filepath.EvalSymlinks(absolute); err == nil {
		return file, nil
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(absolute))
	if err != nil {
		return "", err
	}
	file := filepath.Join(folder, filepath.Base(absolute))
	link, err := os.Readlink(file)
	if err == nil && filepath.IsAbs(link) {
		return link, nil
	}
	if err == nil {
		return filepath.Join(folder, link), nil
	}
	return file, nil // it is no link
}

// createFile makes the file so that only its owner reads it: rows hold leases
// and the addresses of webhooks. SQLite gives its other files the same rights.
// The folder is synced, so that a power loss does not take the file as a whole.
// A file that is there is not even opened, because closing it would free the locks
// that SQLite has on it in this process, and with them what others may delete.
func createFile(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return errors.Join(err, file.Close())
	}
	return errors.Join(folder.Sync(), folder.Close(), file.Close())
}

// connect makes a pool. Every connection syncs each commit (FULL) and has the
// pragmas given.
func connect(path string, most int, pragmas ...string) (*sql.DB, error) {
	query := url.Values{"_pragma": append([]string{"synchronous(FULL)"}, pragmas...)}
	name := url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(most)
	return db, nil
}

// Close waits for what was begun, gives up every election, and closes the file. A
// second call does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	held := s.elections
	s.elections = map[*election]struct{}{}
	s.mu.Unlock()
	for e := range held {
		e.unlock()
	}
	var errs []error
	if s.writer != nil {
		errs = append(errs, s.writer.close())
	}
	if s.db != nil {
		errs = append(errs, s.reads.close(), s.db.Close())
	}
	return errors.Join(errs...)
}
