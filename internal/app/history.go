package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/internal/app/settings"
)

// PastJobs reads the jobs of the settings' database that ended between two
// times, for a replay of them.
func PastJobs(ctx context.Context, cfg settings.Config, from, until time.Time, log *slog.Logger) (past []fleet.PastJob, err error) {
	store, err := storeOpener(cfg, log)(ctx)
	if err != nil {
		return nil, fmt.Errorf("open database of jobs: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	history, ok := store.(interface{ History() fleet.History })
	if !ok {
		return nil, errors.New("this database keeps no history of jobs")
	}
	return history.History().Past(ctx, from, until)
}
