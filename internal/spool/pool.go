package spool

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

// Conditions a caller branches on.
var (
	// ErrTooLarge means that a spool met its own limit.
	ErrTooLarge = errors.New("spool is larger than its limit")
	// ErrFull means that the pool's memory and disk budgets, or the disk
	// itself, have no room left.
	ErrFull = errors.New("spool budget is used up")
	// ErrReleased means that the last reference is gone.
	ErrReleased = errors.New("spool is released")
	// ErrFinished means a write after Finish.
	ErrFinished = errors.New("spool is finished")
	// ErrUnfinished means that Bytes was asked before Finish.
	ErrUnfinished = errors.New("spool is not finished")
	// ErrClosed means that the pool takes no new bytes.
	ErrClosed = errors.New("spool pool is closed")
)

// mostEach is the highest MemoryEach.
const mostEach = 1 << 30

// Config bounds what all spools of a Pool may hold. A zero takes the default.
type Config struct {
	// Dir is where bytes go that do not stay in memory (os.TempDir). It
	// must exist. The files have no name, so a crash leaves nothing behind.
	Dir string
	// MemoryEach is how much of one spool stays in memory (8 MiB); below
	// 4 KiB everything goes to disk.
	MemoryEach int64
	// MemoryAll bounds the memory of all spools together (64 MiB). It lies
	// outside Go's heap. While a small buffer grows, the old and the new one
	// both count.
	MemoryAll int64
	// DiskAll bounds the bytes of all spools on disk (4 GiB).
	DiskAll int64
}

// Validate joins every fault, each naming its key and range.
func (c Config) Validate() error {
	var errs []error
	check := func(key string, value, high int64) {
		if value < 0 || value > high {
			errs = append(errs, fmt.Errorf("%s: %d is not within 0 to %d", key, value, high))
		}
	}
	check("spool-memory-each", c.MemoryEach, mostEach)
	check("spool-memory", c.MemoryAll, 1<<46)
	check("spool-disk", c.DiskAll, 1<<50)
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	if c.Dir == "" {
		c.Dir = os.TempDir()
	}
	if c.MemoryEach == 0 {
		c.MemoryEach = 8 << 20
	}
	if c.MemoryAll == 0 {
		c.MemoryAll = 64 << 20
	}
	if c.DiskAll == 0 {
		c.DiskAll = 4 << 30
	}
	return c
}

// Pool is the budget that spools share and the store of their buffers.
type Pool struct {
	cfg     Config
	buffers mappings
	chunk   sync.Pool // of *[chunkSize]byte, for Reader.WriteTo

	mu     sync.Mutex
	open   int
	memory int64
	disk   int64
	closed bool
}

// Stats is a moment's reading of a Pool.
type Stats struct {
	// Open counts spools that still have a reference.
	Open int
	// MemoryBytes and DiskBytes are what they hold. Memory counts whole
	// buffers, which are a little larger than what is in them while they are
	// written; the few that wait for a taker are not counted.
	MemoryBytes, DiskBytes int64
}

// NewPool checks cfg and tries the folder with one file, so that a wrong
// folder is an error at the start and not at the first large picture.
func NewPool(cfg Config) (*Pool, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("check spool settings: %w", err)
	}
	cfg = cfg.withDefaults()
	file, err := unlinkedFile(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("try spool folder: %w", err)
	}
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("try spool folder: %w", err)
	}
	return &Pool{
		cfg:   cfg,
		chunk: sync.Pool{New: func() any { return new([chunkSize]byte) }},
	}, nil
}

// New makes an empty spool that refuses to grow beyond limit bytes; a limit
// of 0 or less is none. The caller holds its one reference.
func (p *Pool) New(limit int64) *Spool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open++
	return &Spool{pool: p, limit: limit, refs: 1}
}

// Stats reads the counters.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{Open: p.open, MemoryBytes: p.memory, DiskBytes: p.disk}
}

// Close makes every later write fail with ErrClosed. What spools hold already
// stays readable until their last Release.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
}

// sizeFor is the size of the buffer that is to hold n bytes in the place of
// one of old bytes; false when that is more than one spool may have.
func (p *Pool) sizeFor(n, old int64) (size int64, ok bool) {
	if n > p.cfg.MemoryEach || p.cfg.MemoryEach < 1<<smallestBits {
		return 0, false
	}
	return capacity(n, old, p.cfg.MemoryEach), true
}

// takeBuffer gives a buffer of size bytes and how much of it has its pages, or
// nil when there is no room.
func (p *Pool) takeBuffer(size int64) (buf []byte, present int64) {
	if !p.reserveMemory(size) {
		return nil, 0
	}
	buf, present, err := p.buffers.take(size)
	if err != nil { // a limit of the system's, which the disk may not have
		p.unreserveMemory(size)
		return nil, 0
	}
	return buf, present
}

// returnBuffer gives back what takeBuffer gave; nil is nothing.
func (p *Pool) returnBuffer(buf []byte) {
	if buf == nil {
		return
	}
	p.unreserveMemory(int64(len(buf)))
	p.buffers.give(buf)
}

// resizeBuffer changes the size of a large buffer without a copy; nil, and buf
// stays, where that cannot be. Nobody else may look at buf meanwhile.
func (p *Pool) resizeBuffer(buf []byte, size int64) []byte {
	more := size - int64(len(buf))
	if isSmall(buf) || !p.reserveMemory(more) {
		return nil
	}
	resized := resize(buf, size)
	if resized == nil {
		p.unreserveMemory(more)
	}
	return resized
}

func (p *Pool) reserveMemory(n int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n > p.cfg.MemoryAll-p.memory {
		return false
	}
	p.memory += n
	return true
}

func (p *Pool) unreserveMemory(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.memory -= n
}

func (p *Pool) reserveDisk(n int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n > p.cfg.DiskAll-p.disk {
		return ErrFull
	}
	p.disk += n
	return nil
}

// checkOpen is asked before every write.
func (p *Pool) checkOpen() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	return nil
}

// forget takes a spool and its disk bytes out of the counters.
func (p *Pool) forget(disk int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open--
	p.disk -= disk
}
