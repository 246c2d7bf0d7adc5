package cache

import (
	"container/list"
	"sync"
)

// memoryOverhead is what an entry costs beside its bytes and its names: the
// list's and the map's share, rounded up.
const memoryOverhead = 256

// Memory keeps values, least recently used out first. Its methods are safe
// for concurrent use and cost constant time, but for Purge, which looks at
// every entry.
type Memory[V any] struct {
	limit, each int64

	mu      sync.Mutex
	entries map[string]*list.Element
	order   list.List // of *kept[V], most recently used first
	stats   Stats
}

type kept[V any] struct {
	key, group string
	value      V
	bytes      int64
}

// NewMemory makes a store of at most limit bytes whose entries have at most
// each (0: an eighth, so that one large entry does not push out all others).
// A limit of 0 keeps nothing.
func NewMemory[V any](limit, each int64) *Memory[V] {
	if each == 0 {
		each = limit / 8
	}
	return &Memory[V]{
		limit: limit, each: min(each, limit),
		entries: make(map[string]*list.Element),
	}
}

// Get finds the value of key.
func (m *Memory[V]) Get(key string) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.entries[key]
	if !ok {
		m.stats.Misses++
		var none V
		return none, false
	}
	m.stats.Hits++
	m.order.MoveToFront(e)
	return e.Value.(*kept[V]).value, true
}

// Put keeps v, which takes the given bytes besides what the entry itself
// costs. It answers false when that is more than one entry may have; then
// nothing is kept under key.
func (m *Memory[V]) Put(key, group string, v V, bytes int64) bool {
	whole := bytes + int64(len(key)+len(group)) + memoryOverhead
	m.mu.Lock()
	defer m.mu.Unlock()
	if old, ok := m.entries[key]; ok {
		m.drop(old)
	}
	if bytes < 0 || whole > m.each {
		return false
	}
	for m.stats.Bytes+whole > m.limit {
		m.drop(m.order.Back())
		m.stats.Evicted++
	}
	m.entries[key] = m.order.PushFront(&kept[V]{key, group, v, whole})
	m.stats.Bytes += whole
	return true
}

// Delete forgets key.
func (m *Memory[V]) Delete(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.entries[key]; ok {
		m.drop(e)
	}
}

// Purge forgets all entries of a group, or all there are when group is empty.
func (m *Memory[V]) Purge(group string) Purged {
	m.mu.Lock()
	defer m.mu.Unlock()
	var purged Purged
	for e := m.order.Front(); e != nil; {
		next, entry := e.Next(), e.Value.(*kept[V])
		if group == "" || entry.group == group {
			purged.Entries++
			purged.Bytes += entry.bytes
			m.drop(e)
		}
		e = next
	}
	return purged
}

// Stats reads the counters.
func (m *Memory[V]) Stats() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.stats
	s.Entries, s.Limit = len(m.entries), m.limit
	return s
}

func (m *Memory[V]) drop(e *list.Element) {
	entry := m.order.Remove(e).(*kept[V])
	delete(m.entries, entry.key)
	m.stats.Bytes -= entry.bytes
}
