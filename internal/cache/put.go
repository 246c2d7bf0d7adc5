package cache

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// serial tells temporary files of one name apart.
type serial struct{ atomic.Uint64 }

// partFile is a file while it is written.
type partFile interface {
	io.Writer
	io.Closer
}

// Put keeps an entry in place of any other of its key. On an error that other
// is kept, and nothing of the new one is left on the disk; a caller can do
// without. On a disk that is full before the limit is reached, others leave.
func (d *Disk) Put(key, group string, meta []byte, parts ...[]byte) error {
	d.life.RLock()
	defer d.life.RUnlock()
	if d.closed {
		return ErrClosed
	}
	now := d.now()
	h, err := newHeader(key, group, now, meta, parts)
	if err != nil {
		return err
	}
	it := &item{name: nameOf(h.key, h.group), cost: costOf(h.size()), used: now.UnixNano()}
	if it.cost > min(d.cfg.Each, d.index.limit) {
		return ErrTooLarge
	}
	head := h.encode()
	err = d.store(it, head, parts)
	full := errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
	if full && d.removeAll(d.index.giveWay(it.cost)) == nil {
		err = d.store(it, head, parts)
	}
	return err
}

// store writes an entry, or leaves nothing of it. Bytes that cannot be removed
// count on.
func (d *Disk) store(it *item, head []byte, parts [][]byte) error {
	if err := d.reserve(it.cost); err != nil {
		return err
	}
	temp := filepath.Join(d.cfg.Dir, tempFolder, it.name.text()+"."+strconv.FormatUint(d.serial.Add(1), 10)+".part")
	err := d.write(temp, head, parts)
	if err == nil {
		err = d.publish(temp, it)
	}
	if err == nil {
		return nil
	}
	if removal := removeFile(temp); removal != nil {
		return errors.Join(err, fmt.Errorf("remove half of a cache entry: %w", removal))
	}
	d.index.release(it.cost)
	return err
}

// reserve takes room for cost bytes before the first is written, and removes
// entries until there is some.
func (d *Disk) reserve(cost int64) error {
	if d.index.reserveFree(cost) {
		return nil
	}
	// One at a time: another's removals, still under way, would look like no
	// room at all.
	d.room.Lock()
	defer d.room.Unlock()
	for {
		leaving, err := d.index.reserve(cost)
		if err != nil || len(leaving) == 0 {
			return err
		}
		if err := d.removeAll(leaving); err != nil {
			return err
		}
	}
}

func (d *Disk) write(temp string, head []byte, parts [][]byte) error {
	file, err := d.create(temp)
	if err != nil {
		return fmt.Errorf("create cache entry: %w", err)
	}
	_, err = file.Write(head)
	for i := 0; err == nil && i < len(parts); i++ {
		_, err = file.Write(parts[i])
	}
	// A file system may tell only now that it has no room.
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write cache entry: %w", err)
	}
	return nil
}

// createPart makes the folder again when somebody has removed it.
func createPart(path string) (partFile, error) {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	file, err := os.OpenFile(path, flags, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			file, err = os.OpenFile(path, flags, 0o600)
		}
	}
	if err != nil {
		return nil, err
	}
	return file, nil
}

// publish gives a whole file its name, and the index its item, in one step.
func (d *Disk) publish(temp string, it *item) error {
	fan := &d.fans[it.name.key[0]]
	fan.Lock()
	defer fan.Unlock()
	path := d.path(it.name)
	err := os.Rename(temp, path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			err = os.Rename(temp, path)
		}
	}
	if err != nil {
		return fmt.Errorf("name cache entry: %w", err)
	}
	if old := d.index.add(it); old != nil {
		d.replaced(old, it)
	}
	return nil
}

// replaced settles the item that another took the place of. The rename has
// removed its file already, unless it was of another group.
func (d *Disk) replaced(old, it *item) {
	if old.name != it.name {
		if err := removeFile(d.path(old.name)); err != nil {
			d.log.Warn("cache entry cannot be removed", "folder", d.cfg.Dir, "error", err)
			return
		}
	}
	d.index.settle(old)
}

// costOf is what a file of the given size takes on the disk.
func costOf(size int64) int64 { return (size+block-1)/block*block + fileOverhead }
