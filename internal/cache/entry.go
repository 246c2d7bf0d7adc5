package cache

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// mapFrom is the size from which a file is mapped and not copied: below it a
// copy is cheaper than setting up pages.
const mapFrom = 64 << 10

// Entry is what Get found. Its bytes may not be changed, and not be touched
// after Close; until then they stay, whatever happens to the cache.
type Entry struct {
	Meta   []byte
	Parts  [][]byte
	Stored time.Time

	mapped []byte // nil when the bytes were copied
	free   func()
	once   sync.Once
}

// Close gives the memory back; any further one does nothing.
func (e *Entry) Close() {
	e.once.Do(func() {
		e.Meta, e.Parts = nil, nil
		if e.mapped != nil {
			_ = unix.Munmap(e.mapped) // which fails for a wrong address only
		}
		e.free()
	})
}

// readEntry reads and verifies the file of the given name and key. A fault of
// its content is errBroken.
func readEntry(file *os.File, want name, key [sha256.Size]byte) (*Entry, error) {
	facts, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("stat cache entry: %w", err)
	}
	size := facts.Size()
	start, err := readStart(file, size)
	if err != nil {
		return nil, err
	}
	h, err := parseHeader(start, size)
	if err != nil {
		return nil, err
	}
	if h.key != key || nameOf(h.key, h.group) != want {
		return nil, fmt.Errorf("%w: it has another key", errBroken)
	}
	e := &Entry{Stored: h.stored}
	if int64(len(start)) == size {
		e.cut(h, start)
		return e, verify(bytes.NewReader(start), h)
	}
	if err := verify(file, h); err != nil {
		return nil, err
	}
	if e.mapped, err = unix.Mmap(int(file.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED); err != nil {
		return nil, fmt.Errorf("map cache entry: %w", err)
	}
	e.cut(h, e.mapped)
	return e, nil
}

// readStart reads a small file whole, and of a large one all of its head.
func readStart(file *os.File, size int64) ([]byte, error) {
	if size < mapFrom {
		return readAt(file, size)
	}
	start, err := readAt(file, 4096)
	if err != nil {
		return nil, err
	}
	n, err := headLength(start)
	if err != nil || n <= len(start) {
		return start, err
	}
	if int64(n) > size {
		return nil, fmt.Errorf("%w: its head is cut off", errBroken)
	}
	return readAt(file, int64(n))
}

func readAt(file *os.File, n int64) ([]byte, error) {
	b := make([]byte, n)
	if _, err := file.ReadAt(b, 0); err != nil {
		return nil, fmt.Errorf("%w: read: %w", errBroken, err)
	}
	return b, nil
}

var chunks = sync.Pool{New: func() any { return new([128 << 10]byte) }}

// verify reads the parts of a large file by calls and not through a mapping,
// in which a bad spot of the disk would be a signal that ends the process.
func verify(file io.ReaderAt, h header) error {
	chunk := chunks.Get().(*[128 << 10]byte)
	defer chunks.Put(chunk)
	at := int64(h.length())
	for i, p := range h.parts {
		crc, end := uint32(0), at+p.length
		for at < end {
			b := chunk[:min(end-at, int64(len(chunk)))]
			if _, err := file.ReadAt(b, at); err != nil {
				return fmt.Errorf("%w: read: %w", errBroken, err)
			}
			crc = checksum(crc, b)
			at += int64(len(b))
		}
		if crc != p.crc {
			return fmt.Errorf("%w: part %d has another checksum", errBroken, i)
		}
	}
	return nil
}

func (e *Entry) cut(h header, whole []byte) {
	at := int64(h.length())
	e.Meta = whole[at-int64(len(h.meta)) : at : at]
	e.Parts = make([][]byte, len(h.parts))
	for i, p := range h.parts {
		e.Parts[i] = whole[at : at+p.length : at+p.length]
		at += p.length
	}
}
