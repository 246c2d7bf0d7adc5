package app

import (
	"io"
	"log/slog"

	"github.com/spillway-media/spillway/internal/app/settings"
)

// NewLogger writes to w as the settings say: text for a person at a terminal,
// JSON for everything that collects logs.
func NewLogger(c settings.Observing, w io.Writer, terminal bool) *slog.Logger {
	options := &slog.HandlerOptions{Level: level(c.LogLevel)}
	if c.LogFormat == "text" || (c.LogFormat == "auto" && terminal) {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

func level(name string) slog.Level {
	switch name {
	case "debug":
		return slog.LevelDebug
	case "warn":
		return slog.LevelWarn
	case "error":
		return slog.LevelError
	}
	return slog.LevelInfo
}
