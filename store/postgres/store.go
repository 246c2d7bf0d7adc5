package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/spillway-media/spillway/jobs"
)

const (
	// connectTimeout is short: whoever enqueues wants to hear soon that the
	// database is away.
	connectTimeout = 3 * time.Second
	// statementTimeout is the server's limit, callTimeout what a call may take
	// altogether when the server does not even answer.
	statementTimeout = 8 * time.Second
	callTimeout      = 10 * time.Second
	// leastConns lets claims, finishes, heartbeats and questions go on beside
	// one another.
	leastConns = 10
)

// Store is jobs.Store on Postgres.
type Store struct {
	pool      *pgxpool.Pool
	config    *pgx.ConnConfig // for connections that are not the pool's
	offset    func() time.Duration
	log       *slog.Logger
	questions chan struct{} // holds one for each question that is being answered
	// silence is how long an elected process may say nothing.
	silence time.Duration

	enqueues    group[[]jobs.Spec, []jobs.Enqueued]
	finishes    group[finish, struct{}]
	checkpoints group[saving, struct{}]
	working     sync.WaitGroup // the goroutines of the groups
}

var _ jobs.Store = (*Store)(nil)

// Option changes how a Store is opened.
type Option func(*Store)

// WithClockOffset is for tests: what offset answers is added to the database's
// clock wherever this store asks for it.
func WithClockOffset(offset func() time.Duration) Option {
	return func(s *Store) { s.offset = offset }
}

// Open connects to a database that Migrate has prepared for this release.
func Open(ctx context.Context, dsn string, log *slog.Logger, options ...Option) (*Store, error) {
	config, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fault("open database", err)
	}
	s := &Store{questions: make(chan struct{}, max(1, config.MaxConns/2)), pool: pool, config: config.ConnConfig, offset: func() time.Duration { return 0 }, log: log, silence: electionSilence}
	for _, option := range options {
		option(s)
	}
	s.enqueues = group[[]jobs.Spec, []jobs.Enqueued]{commit: s.enqueueAll, fits: s.fitsEnqueue, working: &s.working}
	s.finishes = group[finish, struct{}]{commit: s.finishAll, fits: fitsFinish, working: &s.working}
	s.checkpoints = group[saving, struct{}]{commit: s.saveAll, fits: fitsSaving, working: &s.working}
	if err := s.checkSchema(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return s, nil
}

// parse reads an address. What the library says of a bad one could repeat a
// password, so it is not passed on.
func parse(dsn string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("read address of the database: it is neither a postgres:// URL nor a list of key=value settings that Postgres knows")
	}
	if config.ConnConfig.ConnectTimeout == 0 || config.ConnConfig.ConnectTimeout > connectTimeout {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	if !strings.Contains(dsn, "pool_max_conns") {
		config.MaxConns = max(config.MaxConns, leastConns)
	}
	params := config.ConnConfig.RuntimeParams
	setDefault(params, "application_name", "spillway")
	setDefault(params, "statement_timeout", milliseconds(statementTimeout))
	setDefault(params, "idle_in_transaction_session_timeout", milliseconds(callTimeout))
	// A plan that is kept knows neither the size of the backlog nor the limit
	// of a claim; what it saves is a fraction of a millisecond.
	setDefault(params, "plan_cache_mode", "force_custom_plan")
	// Compiling a statement of many parts takes a second, running it none.
	setDefault(params, "jit", "off")
	return config, nil
}

func setDefault(params map[string]string, key, value string) {
	if _, ok := params[key]; !ok {
		params[key] = value
	}
}

func milliseconds(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }

// Close waits for what is being committed and ends all connections but those
// of elections.
func (s *Store) Close() error {
	s.working.Wait()
	s.pool.Close()
	return nil
}

// sql completes a statement: {now} is the time that the transaction began,
// {clock} the time at this moment, {job} the columns that scanJob reads; {last},
// {head} and {cost} are what jobs.FairTag asks for, of the row named seat, and
// {quick} lets the transaction end before its commit is on the disk.
func (s *Store) sql(text string) string {
	return complete(text, s.offset())
}

func complete(text string, offset time.Duration) string {
	now, clock := "now()", "clock_timestamp()"
	if offset != 0 {
		shift := fmt.Sprintf(" + interval '%d microseconds'", offset.Microseconds())
		now, clock = "("+now+shift+")", "("+clock+shift+")"
	}
	return strings.NewReplacer("{now}", now, "{clock}", clock, "{job}", jobColumns,
		"{last}", lastTag, "{head}", headTag, "{cost}", cost, "{quick}", quick).Replace(text)
}

// What several statements say in the same words: see Store.sql.
const (
	lastTag = `coalesce((SELECT f.fair_tag FROM processing_jobs f
		WHERE f.ready AND f.queue = seat.queue AND f.rank = seat.rank AND f.tenant = seat.tenant AND f.tenant >= ''
		ORDER BY f.fair_tag DESC LIMIT 1), 0)`
	headTag = `coalesce((SELECT f.fair_tag FROM processing_jobs f
		WHERE f.ready AND f.queue = seat.queue AND f.rank = seat.rank
		ORDER BY f.fair_tag, f.id LIMIT 1), 0)`
	cost  = `least(greatest(seat.estimated_seconds, 1), 3600)`
	quick = `(SELECT set_config('synchronous_commit', 'off', true)) = 'off'`
)

// call runs what a method does, within the time that a call may take. What
// surely never reached the server, over a connection that had died unnoticed,
// is done once more.
func (s *Store) call(ctx context.Context, verb string, do func(ctx context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := do(limited)
	for range 2 {
		if !again(err) {
			break
		}
		err = do(limited)
	}
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%s: %w", verb, context.Cause(ctx)) // the caller's end, not the server's fault
	}
	return fault(verb, err)
}

// exec runs one statement and answers how many rows it touched.
func (s *Store) exec(ctx context.Context, verb, text string, args ...any) (int64, error) {
	var n int64
	err := s.call(ctx, verb, func(ctx context.Context) error {
		tag, err := s.pool.Exec(ctx, s.sql(text), args...)
		n = tag.RowsAffected()
		return err
	})
	return n, err
}

// list runs one statement and reads its rows.
func list[T any](ctx context.Context, s *Store, verb string, read pgx.RowToFunc[T], text string, args ...any) ([]T, error) {
	var all []T
	err := s.call(ctx, verb, func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, s.sql(text), args...)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, read)
		return err
	})
	return all, err
}

// one runs one statement that answers one row; jobs.ErrNotFound without any.
func one[T any](ctx context.Context, s *Store, verb string, read pgx.RowToFunc[T], text string, args ...any) (T, error) {
	all, err := list(ctx, s, verb, read, text, args...)
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%s: %w", verb, jobs.ErrNotFound)
	}
	if err != nil {
		var none T
		return none, err
	}
	return all[0], nil
}
