package app

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spillway-media/spillway/fleet/fleettest"
	"github.com/spillway-media/spillway/internal/app/settings"
	"github.com/spillway-media/spillway/jobs"
)

// The scheduler of the program knows of a file that it could not take: it is
// what the alert "settings" is made of.
func TestTheSchedulerKnowsOfAFileThatIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	c := settings.Config{}
	c.Data, c.SchedulerConfig = dir, filepath.Join(dir, "scheduler.json")
	write := func(text string) {
		if err := os.WriteFile(c.SchedulerConfig, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{}`)
	file, err := openSchedulerFile(c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPlanner(c, fleettest.NewStore(time.Now), ownBell{jobs.NewProcessBell()}, file, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Refused(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = file.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	write(`{"modes": "hybrid"}`)
	again := time.NewTicker(100 * time.Millisecond) // the file is looked at each second
	defer again.Stop()
	for range 100 {
		if err = p.Refused(); err != nil {
			break
		}
		<-again.C
	}
	if err == nil || !strings.Contains(err.Error(), "modes") {
		t.Errorf("the file is refused because of: %v", err)
	}
}
