package cache

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// MinLimit is the least a folder of entries can be bounded to.
const MinLimit = 4 << 20

// Overhead on disk. A file takes whole blocks, a record of its own and a line
// in its folder; folderShare is for the folders, taken off the limit at once.
const (
	block        = 4 << 10
	fileOverhead = 512
	folderShare  = 257*block + 64<<10
)

// DiskConfig says where and how much.
type DiskConfig struct {
	// Dir is made when it is not there, for its owner only.
	Dir string
	// Limit bounds everything in Dir, what is being written included; at
	// least MinLimit.
	Limit int64
	// Each bounds one entry (an eighth of Limit).
	Each int64
}

// Disk keeps entries in a folder, least recently used out first. Its methods
// are safe for concurrent use. Each entry is one file, written under another
// name and renamed when it is whole; nothing is flushed, because a file that a
// power cut left half is found by its checksums.
type Disk struct {
	cfg    DiskConfig
	log    *slog.Logger
	now    func() time.Time
	create func(path string) (partFile, error)
	lock   *os.File
	index  *index

	// room is held by the one Put that makes room.
	room sync.Mutex
	// fans order what happens to the names in each of the 256 folders: a name
	// and what the index says of it change together.
	fans [256]sync.RWMutex
	// life is held for reading by every call, and for writing by Close.
	life   sync.RWMutex
	closed bool
	serial serial
}

// OpenDisk takes the folder for this process, or fails with ErrInUse. It
// removes what a crash left half written and what is over the limit, and lists
// the rest without reading it.
func OpenDisk(cfg DiskConfig, log *slog.Logger) (*Disk, error) {
	return openDisk(cfg, log, time.Now)
}

func openDisk(cfg DiskConfig, log *slog.Logger, now func() time.Time) (*Disk, error) {
	if cfg.Limit < MinLimit {
		return nil, fmt.Errorf("open cache: a limit of %d bytes is below %d", cfg.Limit, MinLimit)
	}
	if cfg.Each <= 0 {
		cfg.Each = cfg.Limit / 8
	}
	if err := os.MkdirAll(filepath.Join(cfg.Dir, tempFolder), 0o700); err != nil {
		return nil, fmt.Errorf("make cache folder: %w", err)
	}
	lock, err := takeLock(filepath.Join(cfg.Dir, lockFile))
	if err != nil {
		return nil, err
	}
	d := &Disk{
		cfg: cfg, log: log, now: now, create: createPart, lock: lock,
		index: newIndex(cfg.Limit - folderShare),
	}
	if err := d.restore(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return d, nil
}

// Close lets another process have the folder. It waits for running calls;
// later ones find nothing. Entries that are held stay valid.
func (d *Disk) Close() error {
	d.life.Lock()
	defer d.life.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	return d.lock.Close()
}

// Get finds an entry and verifies it. The caller closes it. What is broken is
// removed and not found.
func (d *Disk) Get(key string) (*Entry, bool) {
	d.life.RLock()
	defer d.life.RUnlock()
	if d.closed {
		return nil, false
	}
	e, err := d.get(sha256.Sum256([]byte(key)))
	if err != nil {
		d.log.Warn("cache entry cannot be read", "folder", d.cfg.Dir, "error", err)
	}
	d.index.counted(e != nil)
	return e, e != nil
}

func (d *Disk) get(key [sha256.Size]byte) (*Entry, error) {
	it, file, err := d.open(keyID(key[:16]))
	if it == nil || err != nil {
		return nil, err
	}
	e, err := readEntry(file, it.name, key)
	_ = file.Close() // only read from
	if err == nil {
		e.free = func() { d.index.unpin(it) }
		return e, nil
	}
	d.index.unpin(it)
	if errors.Is(err, errBroken) {
		err = errors.Join(err, d.discard(it))
	}
	return nil, err
}

// open finds the file of a key and pins its item, or gives neither.
func (d *Disk) open(key keyID) (*item, *os.File, error) {
	fan := &d.fans[key[0]]
	fan.RLock()
	defer fan.RUnlock()
	now := d.now()
	it, touch := d.index.pin(key, now.UnixNano())
	if it == nil {
		return nil, nil, nil
	}
	path := d.path(it.name)
	file, err := os.Open(path)
	if err != nil {
		d.index.unpin(it)
		if errors.Is(err, fs.ErrNotExist) {
			d.forget(it)
			return nil, nil, nil
		}
		return nil, nil, fmt.Errorf("open cache entry: %w", err)
	}
	if touch {
		// Failing costs the entry its place in line after a restart, only.
		_ = os.Chtimes(path, time.Time{}, now)
	}
	return it, file, nil
}

// forget drops an item whose file somebody else has removed.
func (d *Disk) forget(it *item) {
	if d.index.drop(it) {
		d.index.settle(it)
	}
}

// discard removes an entry that turned out broken.
func (d *Disk) discard(it *item) error {
	if !d.index.drop(it) {
		return nil
	}
	d.index.countBroken()
	return d.remove(it)
}

// Delete removes an entry, if there is one.
func (d *Disk) Delete(key string) {
	d.life.RLock()
	defer d.life.RUnlock()
	if d.closed {
		return
	}
	sum := sha256.Sum256([]byte(key))
	if it := d.index.dropKey(keyID(sum[:16])); it != nil {
		if err := d.remove(it); err != nil {
			d.log.Warn("cache entry cannot be removed", "folder", d.cfg.Dir, "error", err)
		}
	}
}

// Purge removes all entries of a group, or all there are when group is empty.
func (d *Disk) Purge(group string) (Purged, error) {
	d.life.RLock()
	defer d.life.RUnlock()
	if d.closed {
		return Purged{}, ErrClosed
	}
	var purged Purged
	var errs []error
	for _, it := range d.index.dropGroup(groupIDOf(group)) {
		if err := d.remove(it); err != nil {
			errs = append(errs, err)
			continue
		}
		purged.Entries++
		purged.Bytes += it.cost
	}
	return purged, errors.Join(errs...)
}

// Stats reads the counters.
func (d *Disk) Stats() Stats {
	s := d.index.stats()
	s.Limit = d.cfg.Limit
	return s
}

// remove removes the file of an item that is out of the index. When that
// fails its bytes count on, since they lie on the disk.
func (d *Disk) remove(it *item) error {
	fan := &d.fans[it.name.key[0]]
	fan.Lock()
	defer fan.Unlock()
	if !d.index.overwritten(it) {
		if err := removeFile(d.path(it.name)); err != nil {
			return fmt.Errorf("remove cache entry: %w", err)
		}
	}
	d.index.settle(it)
	return nil
}

func (d *Disk) removeAll(items []*item) error {
	var errs []error
	for _, it := range items {
		if err := d.remove(it); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (d *Disk) path(n name) string { return filepath.Join(d.cfg.Dir, n.path()) }

// removeFile is content when there is none.
func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
