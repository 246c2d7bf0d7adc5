package app

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/internal/app/settings"
	"github.com/spillway-media/spillway/internal/httpapi"
)

// scheduling is the role Schedule: a scheduler on the database of jobs, and a
// listener for operators.
type scheduling struct {
	cfg   settings.Config
	log   *slog.Logger
	store *lateStore
	bell  bell
	file  *schedulerFile
	edge  *httpapi.Server
	admin *door // nil when off

	stopping atomic.Bool
	// at is the scheduler once there is a database.
	at atomic.Pointer[planner]
}

// schedule decides and acts until ctx ends, and answers when the round that it
// is in is over. Where the database is away at the start it waits for a while,
// as a worker does.
func schedule(ctx context.Context, cfg settings.Config, log *slog.Logger) error {
	s, err := newScheduling(ctx, cfg, log)
	if err != nil {
		return err
	}
	return s.run(ctx)
}

func newScheduling(ctx context.Context, cfg settings.Config, log *slog.Logger) (*scheduling, error) {
	s := &scheduling{cfg: cfg, log: log, store: newLateStore(storeOpener(cfg, log), log)}
	var err error
	if s.file, err = openSchedulerFile(cfg, log); err != nil {
		return nil, err
	}
	if s.bell, err = openBell(ctx, cfg, log); err != nil {
		return nil, err
	}
	if err = s.listen(ctx); err != nil {
		return nil, errors.Join(err, s.bell.Close())
	}
	_ = s.store.try(ctx, firstTry) // Run tells why not
	return s, nil
}

func (s *scheduling) listen(ctx context.Context) (err error) {
	config := httpapi.DefaultConfig()
	config.Fleet = func() (fleet.Stats, bool) { return s.at.Load().stats() }
	config.H2 = func() []httpapi.H2Listener {
		if s.admin == nil || s.admin.h2 == nil {
			return nil
		}
		return []httpapi.H2Listener{{Name: s.admin.name, Server: s.admin.h2}}
	}
	if s.edge, err = httpapi.New(config, httpapi.Alone(s.ready), s.log); err != nil {
		return err
	}
	if s.cfg.AdminListen != "" {
		s.admin, err = openDoor(ctx, "admin-listen", s.cfg.AdminListen, nil, s.cfg, s.edge.Admin(), s.log)
	}
	return err
}

// ready is nil while there is a database, and so something to decide on.
func (s *scheduling) ready(time.Time) error {
	switch {
	case s.stopping.Load():
		return errors.New("stopping")
	case s.at.Load() == nil:
		return errNoStore
	}
	return nil
}

// run is the life of the process.
func (s *scheduling) run(ctx context.Context) error {
	lasting, stop := context.WithCancel(context.WithoutCancel(ctx))
	var behind sync.WaitGroup
	behind.Go(func() { s.store.Run(lasting) })
	behind.Go(func() { _ = s.file.Run(lasting) }) // it only ends with the context
	if s.admin != nil {
		behind.Go(func() {
			if err := s.admin.serve(); err != nil {
				s.log.Error("listener for operators has ended", "error", err)
			}
		})
		s.log.Info("listening for operators", "address", s.admin.address())
	}
	err := s.decide(ctx)
	s.stopping.Store(true)
	if s.admin != nil {
		_ = s.admin.server.Close()
	}
	stop()
	behind.Wait()
	s.log.Info("stopped")
	return errors.Join(err, s.bell.Close(), s.store.Close())
}

// decide runs the scheduler until ctx ends.
func (s *scheduling) decide(ctx context.Context) error {
	there, err := s.store.await(ctx, startPatience)
	if ctx.Err() != nil {
		return nil //nolint:nilerr // it was told to stop, which may be why the database was not opened
	}
	if !there {
		return err
	}
	store, err := s.store.current()
	if err != nil {
		return err
	}
	tables, err := tablesOf(store)
	if err != nil {
		return err
	}
	p, err := newPlanner(s.cfg, tables, s.bell, s.file, s.log)
	if err != nil {
		return err
	}
	s.at.Store(p)
	return p.run(ctx, s.file, s.log)
}
