package fleetfile

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// watching is a File whose loop runs on a clock that jumps.
type watching struct {
	t    *testing.T
	path string
	file *File
	hup  chan os.Signal
	log  *bytes.Buffer
	n    int
}

func watchFile(t *testing.T, content string, each func(w *watching)) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	w := &watching{t: t, path: filepath.Join(dir, "scheduler.json"), log: &bytes.Buffer{}}
	w.write(content)
	file, err := Open(w.path, slog.New(slog.NewTextHandler(w.log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	w.file = file
	synctest.Test(t, func(t *testing.T) {
		w.hup = make(chan os.Signal, 1) // of this bubble, or nobody in it would ever be idle
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { file.watch(ctx, w.hup); close(ended) }()
		each(w)
		cancel()
		<-ended
	})
}

// write puts a new file in the place of the old one, as careful editors do, and
// gives it a time of its own, because two within a tick of the disk look alike.
func (w *watching) write(content string) {
	w.t.Helper()
	w.n++
	fresh := w.path + ".new"
	if err := os.WriteFile(fresh, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
	at := time.Unix(1_700_000_000+int64(w.n), 0)
	if err := os.Chtimes(fresh, at, at); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(fresh, w.path); err != nil {
		w.t.Fatal(err)
	}
}

// pass lets seconds go by.
func (w *watching) pass(seconds int) {
	for range seconds {
		<-time.After(time.Second)
		synctest.Wait()
	}
}

func (w *watching) told(what string) int { return strings.Count(w.log.String(), what) }

func (w *watching) expect(policy fleet.Policy, refused bool) {
	w.t.Helper()
	if got := w.file.Settings().Policy; got != policy || (w.file.Refused() != nil) != refused {
		w.t.Errorf("policy %s is in force, refused: %v", got, w.file.Refused())
	}
}

const (
	inForce = "scheduler settings in force"
	refusal = "scheduler settings refused"
)

func TestANewFileIsInForceWithinSeconds(t *testing.T) {
	watchFile(t, `{}`, func(w *watching) {
		w.expect(fleet.PolicySeed, false)
		w.write(`{"policy": "steps"}`)
		w.pass(3)
		w.expect(fleet.PolicySteps, false)
		if w.told(inForce) != 1 {
			w.t.Errorf("the log is %s", w.log)
		}
	})
}

func TestComplaint22ABadFileKeepsTheOldSettingsAndSaysSoOnce(t *testing.T) {
	for name, bad := range map[string]string{
		"a key that is not known": `{"policy": "steps", "max_daly": 1}`,
		"half a file":             `{"policy": "ste`,
		"a value out of range":    `{"policy": "steps", "evaluation_interval_seconds": 0}`,
		"nothing":                 ``,
	} {
		t.Run(name, func(t *testing.T) {
			watchFile(t, `{"policy": "backlog"}`, func(w *watching) {
				w.write(bad)
				w.pass(30)
				w.expect(fleet.PolicyBacklog, true)
				if w.told(refusal) != 1 {
					w.t.Errorf("the log is %s", w.log)
				}
				w.write(`{"policy": "steps"}`)
				w.pass(3)
				w.expect(fleet.PolicySteps, false)
			})
		})
	}
}

func TestAFileThatIsGoneKeepsTheOldSettingsAndSaysSoOnce(t *testing.T) {
	watchFile(t, `{"policy": "backlog"}`, func(w *watching) {
		_ = os.Remove(w.path)
		w.pass(30)
		w.expect(fleet.PolicyBacklog, true)
		w.write(`{"policy": "backlog"}`)
		w.pass(3)
		w.expect(fleet.PolicyBacklog, false)
		if w.told(refusal) != 1 || w.told(inForce) != 1 {
			w.t.Errorf("the log is %s", w.log)
		}
	})
}

func TestAFileThatOthersCanWriteNowIsRefused(t *testing.T) {
	watchFile(t, `{"policy": "backlog"}`, func(w *watching) {
		_ = os.Chmod(w.path, 0o666)
		w.pass(3)
		w.expect(fleet.PolicyBacklog, true)
	})
}

func TestAFileThatIsBeingWrittenIsReadWhenItRests(t *testing.T) {
	watchFile(t, `{}`, func(w *watching) {
		for range 5 {
			w.write(`{"policy": "st`)
			w.pass(1)
		}
		w.write(`{"policy": "steps"}`)
		w.pass(3)
		w.expect(fleet.PolicySteps, false)
		if w.told(refusal) != 0 {
			w.t.Errorf("the log is %s", w.log)
		}
	})
}

func TestHangupReadsAtOnceAndSaysSo(t *testing.T) {
	watchFile(t, `{}`, func(w *watching) {
		w.write(`{"policy": "steps"}`)
		w.hup <- syscall.SIGHUP
		synctest.Wait()
		w.expect(fleet.PolicySteps, false)
		w.hup <- syscall.SIGHUP
		synctest.Wait()
		if w.told(inForce) != 2 {
			w.t.Errorf("the log is %s", w.log)
		}
	})
}

func TestAFileThatIsTouchedIsNoNews(t *testing.T) {
	watchFile(t, `{"policy": "steps"}`, func(w *watching) {
		w.write(`{"policy": "steps"}`)
		w.pass(5)
		if w.log.Len() != 0 {
			w.t.Errorf("the log is %s", w.log)
		}
	})
}

func TestABadFileIsNoStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "scheduler.json")
	if err := os.WriteFile(path, []byte(`{"mode": "hybrid"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("it was taken")
	}
}
