package cli

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spillway-media/spillway/internal/app"
	"github.com/spillway-media/spillway/internal/app/settings"
)

// serveCommand answers picture URLs until it is told to stop.
type serveCommand struct {
	layers
	Settings settings.Groups `embed:""`
}

// Run serves.
func (c *serveCommand) Run(ctx context.Context, s *session) error {
	return c.serve(ctx, s, app.Serve)
}

// upCommand is serve with a playground and demo pictures.
type upCommand struct {
	serveCommand `embed:""`
}

// Run serves the playground, too.
func (c *upCommand) Run(ctx context.Context, s *session) error { return c.serve(ctx, s, app.Up) }

func (c *serveCommand) serve(ctx context.Context, s *session, role app.Role) error {
	config := settings.Config{Groups: c.Settings}
	c.loaded.Complete(&config)
	config.Helper = app.Helper(helperWord)
	if err := errors.Join(app.Check(config), app.CheckRole(config, role)); err != nil {
		return c.locate(err)
	}
	if role != app.Serve {
		config.Hurry = s.Hurry.Take()
	}
	log := app.NewLogger(config.Observing, s.Stdout, terminal(s.Stdout))
	c.warn(log)
	return app.Run(ctx, config, role, log)
}

// warn logs what is odd about the layers but no fault.
func (l *layers) warn(log *slog.Logger) {
	for _, warning := range l.loaded.Warnings {
		log.Warn("odd setting", "error", errors.New(warning))
	}
}
