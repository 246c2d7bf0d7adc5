package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-media/spillway/jobs"
)

const (
	// pingTimeout is how long the server may take to show that an election holds.
	pingTimeout = 3 * time.Second
	// electionSilence is how long an elected process may be silent; a Keeper
	// asks every five seconds. One that is stopped keeps its connection for
	// ever, and nobody else could do what it does not.
	electionSilence = 15 * time.Second
)

// Elect implements jobs.Elector by an advisory lock. The lock is that of a
// connection, which does nothing else: when it is lost, so is the election, and
// the server gives the lock to another. The server also ends one that is silent.
func (s *Store) Elect(ctx context.Context, name string) (jobs.Election, error) {
	limited, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(limited, s.config.Copy())
	if err != nil {
		return nil, fault("elect "+name, err)
	}
	var won bool
	err = conn.QueryRow(limited, "SELECT pg_try_advisory_lock(hashtextextended($1, 0))", "spillway/"+name).Scan(&won)
	if err == nil && won {
		// Releases before 14 do not know the setting; there the lock stays with
		// a process that is stopped.
		_, _ = conn.Exec(limited, "SET idle_session_timeout = "+milliseconds(s.silence))
		return &election{conn: conn}, nil
	}
	closeConn(conn)
	if err != nil {
		return nil, fault("elect "+name, err)
	}
	return nil, nil //nolint:nilnil // the contract: another holds it
}

// election is won.
type election struct {
	mu   sync.Mutex
	conn *pgx.Conn // guarded by mu; nil when it is over
}

// Held implements jobs.Election.
func (e *election) Held(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.conn == nil {
		return errors.New("election is over")
	}
	limited, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if err := e.conn.Ping(limited); err != nil {
		// Whether the server still knows of the connection is not known, and a
		// lock that may be another's is none.
		closeConn(e.conn)
		e.conn = nil
		return fmt.Errorf("election is lost: %w", err)
	}
	return nil
}

// Release implements jobs.Election.
func (e *election) Release() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
	defer cancel()
	// The server would see the end of the connection a little later.
	_, _ = e.conn.Exec(ctx, "SELECT pg_advisory_unlock_all()")
	closeConn(e.conn)
	e.conn = nil
}

func closeConn(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // nothing is left to lose on it
}
