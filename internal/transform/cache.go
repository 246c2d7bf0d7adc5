package transform

import (
	"container/list"
	"sync"

	"github.com/spillway-media/spillway/internal/media"
)

// cache keeps finished results in memory, least recently used out first. Only
// complete results enter it; their keys hold the source's version, so an
// entry is never stale, at most unused.
type cache struct {
	limit int64

	mu      sync.Mutex
	bytes   int64
	order   list.List // of *entry, most recently used first
	entries map[string]*list.Element
	hits    uint64
	misses  uint64
}

type entry struct {
	key     string
	format  media.Format
	info    media.Info
	source  int64 // bytes of the source
	outputs []cachedPicture
	bytes   int64
}

type cachedPicture struct {
	made Made
	data []byte
}

func newCache(limit int64) *cache {
	return &cache{limit: limit, entries: make(map[string]*list.Element)}
}

// fits tells whether a result may enter: none takes more than an eighth, so
// that one large picture does not push out everything else.
func (c *cache) fits(bytes int64) bool { return bytes <= c.limit/8 }

func (c *cache) get(key string) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if !ok {
		c.misses++
		return nil
	}
	c.hits++
	c.order.MoveToFront(e)
	return e.Value.(*entry)
}

func (c *cache) put(e *entry) {
	e.bytes = int64(len(e.key)) + entryOverhead
	for _, o := range e.outputs {
		e.bytes += int64(len(o.data))
	}
	if !c.fits(e.bytes) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.entries[e.key]; ok {
		c.drop(old)
	}
	c.entries[e.key] = c.order.PushFront(e)
	c.bytes += e.bytes
	for c.bytes > c.limit {
		c.drop(c.order.Back())
	}
}

// entryOverhead is what an entry costs beside its bytes, rounded up.
const entryOverhead = 512

func (c *cache) drop(e *list.Element) {
	old := e.Value.(*entry)
	c.order.Remove(e)
	delete(c.entries, old.key)
	c.bytes -= old.bytes
}

type cacheStats struct {
	hits, misses uint64
	entries      int
	bytes        int64
}

func (c *cache) stats() cacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return cacheStats{hits: c.hits, misses: c.misses, entries: len(c.entries), bytes: c.bytes}
}
