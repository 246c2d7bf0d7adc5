package spool

import (
	"errors"
	"fmt"
	"math/bits"
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

// Memory comes in power-of-two classes, so that a returned buffer fits the
// next taker. The smallest is one page; the largest is bounded by MemoryEach.
const (
	minClassBits = 12
	maxClassBits = 30
)

// Config bounds what all spools of a Pool may hold. A zero takes the default.
type Config struct {
	// Dir is where bytes go that do not stay in memory (os.TempDir). It
	// must exist. The files have no name, so a crash leaves nothing behind.
	Dir string
	// MemoryEach is how much of one spool stays in memory (4 MiB), rounded
	// down to a power of two; below 4 KiB everything goes to disk.
	MemoryEach int64
	// MemoryAll bounds the memory of all spools together (256 MiB). While a
	// buffer grows, the old and the new one both count.
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
	check("spool-memory-each", c.MemoryEach, 1<<maxClassBits)
	check("spool-memory", c.MemoryAll, 1<<46)
	check("spool-disk", c.DiskAll, 1<<50)
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	if c.Dir == "" {
		c.Dir = os.TempDir()
	}
	if c.MemoryEach == 0 {
		c.MemoryEach = 4 << 20
	}
	if c.MemoryAll == 0 {
		c.MemoryAll = 256 << 20
	}
	if c.DiskAll == 0 {
		c.DiskAll = 4 << 30
	}
	return c
}

// Pool is the budget that spools share and the store of their buffers.
type Pool struct {
	cfg   Config
	idle  [maxClassBits + 1]sync.Pool // of *[]byte, by class; the collector may empty them
	chunk sync.Pool                   // of *[chunkSize]byte, for Reader.WriteTo

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
	// buffers; idle ones in the pool are not counted.
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

// takeBuffer reserves and gives a buffer of at least n bytes, or nil when n
// is more than one spool may keep in memory or the budget has no room.
func (p *Pool) takeBuffer(n int64) []byte {
	class := classOf(n)
	if class > maxClassBits || int64(1)<<class > p.cfg.MemoryEach {
		return nil
	}
	if !p.reserveMemory(1 << class) {
		return nil
	}
	if buf, ok := p.idle[class].Get().(*[]byte); ok {
		return *buf
	}
	return make([]byte, 1<<class)
}

// returnBuffer gives back what takeBuffer gave; nil is nothing.
func (p *Pool) returnBuffer(buf []byte) {
	if buf == nil {
		return
	}
	p.idle[classOf(int64(len(buf)))].Put(&buf)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.memory -= int64(len(buf))
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

// classOf is the exponent of the smallest class that holds n bytes.
func classOf(n int64) int {
	return max(bits.Len64(uint64(max(n, 1)-1)), minClassBits)
}
