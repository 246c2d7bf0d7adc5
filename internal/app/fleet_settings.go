package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/internal/app/fleetfile"
	"github.com/spillway-media/spillway/internal/app/settings"
	"github.com/spillway-media/spillway/internal/notify"
)

// schedulerFile is the scheduler's file, or what holds without one: vps_only,
// and no provider.
type schedulerFile struct {
	file    *fleetfile.File // nil without one
	without fleet.Config
	log     *slog.Logger
}

// openSchedulerFile reads the file that the settings name, which must be there,
// or the usual one, which need not.
func openSchedulerFile(c settings.Config, log *slog.Logger) (*schedulerFile, error) {
	if c.SchedulerConfig == "" {
		if _, err := os.Stat(fleetfile.Usual); errors.Is(err, fs.ErrNotExist) {
			without, err := fleet.Parse([]byte("{}"))
			return &schedulerFile{without: without, log: log}, err
		}
	}
	file, err := fleetfile.Open(c.SchedulerConfig, log)
	if err != nil {
		return nil, fmt.Errorf("scheduler-config: %w", err)
	}
	return &schedulerFile{file: file, log: log}, nil
}

// Config is what is in force.
func (s *schedulerFile) Config() fleet.Config {
	if s.file == nil {
		return s.without
	}
	return s.file.Settings().Config
}

// Refused is why the file as it stands is not in force; nil when it is.
func (s *schedulerFile) Refused() error {
	if s.file == nil {
		return nil
	}
	return s.file.Refused()
}

// demand has a file refused, while the process runs, that enables a provider
// which is not in the program: it would hold every launch, and at a start it
// would be an error.
func (s *schedulerFile) demand(providers map[string]fleet.Provider) {
	if s.file == nil {
		return
	}
	s.file.Check(func(c fleet.Config) error {
		for name, p := range c.Providers {
			if p.Enabled && providers[name] == nil {
				return fmt.Errorf("cloud_providers.%s.enabled: this program has no provider %s; allowed is false", name, name)
			}
		}
		return nil
	})
}

// Channels are those of alerts that are in force.
func (s *schedulerFile) Channels() []notify.Channel {
	if s.file == nil {
		return nil
	}
	return s.file.Settings().Channels
}

// Run keeps up with the file until ctx ends.
func (s *schedulerFile) Run(ctx context.Context) error {
	if s.file == nil {
		s.runWithout(ctx)
		return nil
	}
	return s.file.Run(ctx)
}

// runWithout answers SIGHUP, which would end a process that does not listen to
// it. A file that was made meanwhile has providers that this process does not
// have, and is read at the next start.
func (s *schedulerFile) runWithout(ctx context.Context) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			s.log.Warn("no scheduler settings to read again: the process was started without a file", "path", fleetfile.Usual)
		}
	}
}
