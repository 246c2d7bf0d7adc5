package fleetfile

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// every is how often the file is looked at.
const every = time.Second

// File is the scheduler's file, and the settings of it that are in force.
type File struct {
	path    string
	log     *slog.Logger
	current atomic.Pointer[Settings]
	// refused says why the file as it is now is not in force; nil when it is.
	refused atomic.Pointer[error]
	check   atomic.Pointer[func(fleet.Config) error] // see Check

	// Owned by Run.
	seen  look   // what was read last
	bytes []byte // and what was in it
}

// Open reads the file; it starts nothing.
func Open(path string, log *slog.Logger) (*File, error) {
	path, err := placeOf(path)
	if err != nil {
		return nil, err
	}
	f := &File{path: path, log: log}
	f.seen = lookAt(f.path)
	s, err := Read(f.path)
	if err != nil {
		return nil, err
	}
	f.bytes, _ = readBounded(f.path, maxFile)
	f.current.Store(&s)
	return f, nil
}

// Settings are those in force.
func (f *File) Settings() Settings { return *f.current.Load() }

// Refused says why the file as it stands is not in force, nil when it is.
func (f *File) Refused() error {
	if err := f.refused.Load(); err != nil {
		return *err
	}
	return nil
}

// Check has files refused from now on for what only who uses them can know. It
// is not asked about the one in force.
func (f *File) Check(check func(fleet.Config) error) { f.check.Store(&check) }

// Run reads the file again when it changes, and at SIGHUP, until ctx ends. A
// bad one changes nothing and is told of once.
func (f *File) Run(ctx context.Context) error {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	f.watch(ctx, hup)
	return nil
}

func (f *File) watch(ctx context.Context, hup <-chan os.Signal) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	before := f.seen
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			before = lookAt(f.path)
			f.reload(before, true)
		case <-ticker.C:
			now := lookAt(f.path)
			// An editor may be at it: what is read has not changed for a while.
			if now != f.seen && now == before {
				f.reload(now, false)
			}
			before = now
		}
	}
}

// reload takes the file as it is now, if it can be taken.
func (f *File) reload(now look, asked bool) {
	f.seen = now
	s, err := Read(f.path)
	if check := f.check.Load(); err == nil && check != nil {
		err = (*check)(s.Config)
	}
	if err != nil {
		f.refused.Store(&err)
		f.log.Warn("scheduler settings refused, the old ones stay in force", "path", f.path, "reason", err)
		return
	}
	content, _ := readBounded(f.path, maxFile)
	same := bytes.Equal(content, f.bytes) && f.refused.Load() == nil
	f.current.Store(&s)
	f.refused.Store(nil)
	f.bytes = content
	if !same || asked {
		f.log.Info("scheduler settings in force", "path", f.path, "mode", string(s.Mode), "policy", string(s.Policy))
	}
}

// look is what tells one state of a file from another.
type look struct {
	inode    uint64
	size     int64
	modified time.Time
	changed  int64 // also when only its mode or owner did
	missing  bool
}

func lookAt(path string) look {
	facts, err := os.Stat(path)
	if err != nil {
		return look{missing: true}
	}
	l := look{size: facts.Size(), modified: facts.ModTime()}
	if at, ok := facts.Sys().(*syscall.Stat_t); ok {
		l.inode, l.changed = at.Ino, changedAt(at)
	}
	return l
}
