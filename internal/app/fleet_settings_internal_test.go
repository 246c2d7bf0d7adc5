package app

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
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
	again := time.NewTicker(100 * time.Millisecond) // the file is looked at each second
	defer again.Stop()
	for _, bad := range []struct{ file, reason string }{
		{`{"modes": "hybrid"}`, "modes"},
		{`{"cloud_providers": {"aws": {"enabled": true, "region": "eu-west-3", "instance_type": "c6i.xlarge", "ami_id": "ami-1"}}}`, "cloud_providers.aws.enabled: this program has no provider aws"},
	} {
		write(bad.file)
		for range 100 {
			if err = p.Refused(); err != nil && strings.Contains(err.Error(), bad.reason) {
				break
			}
			<-again.C
		}
		if err == nil || !strings.Contains(err.Error(), bad.reason) {
			t.Errorf("%s is refused because of: %v", bad.file, err)
		}
	}
}

// systemctl reload sends SIGHUP also where there is no file to read again.
func TestSIGHUPWithoutAFileIsAnsweredAndEndsNothing(t *testing.T) {
	own := make(chan os.Signal, 1) // so that one which comes too early does not end the test
	signal.Notify(own, syscall.SIGHUP)
	defer signal.Stop(own)
	read, write := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	file := &schedulerFile{log: slog.New(slog.NewTextHandler(write, nil))}
	go func() { ended <- file.Run(ctx) }()
	told := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(read).ReadString('\n')
		told <- line
		_, _ = io.Copy(io.Discard, read)
	}()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for line := ""; line == ""; {
		select {
		case line = <-told:
			if !strings.Contains(line, "no scheduler settings to read again") {
				t.Errorf("the log says %q", line)
			}
		case <-again.C:
			if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
