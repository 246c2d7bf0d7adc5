package cache

import (
	"sync"
	"time"
)

// touchEvery is how old the time of last use on disk may be. The order of
// leaving is exact while the process lives and this coarse over a restart.
const touchEvery = time.Minute

// item is one file, or one that a reader still holds after its name is gone.
// Its name and cost never change; the rest is guarded by the index.
type item struct {
	name name
	cost int64 // bytes on disk, overhead included

	used       int64 // time of last use as the file has it, in Unix nanoseconds
	pins       int   // readers
	gone       bool  // no longer in the index
	removed    bool  // no longer in the folder
	prev, next *item // the index's ring
}

// index knows what lies in the folder and decides who leaves. It touches no
// file: whoever takes an item out of it removes the file and reports so with
// settle, and until then the bytes count.
type index struct {
	limit int64

	mu    sync.Mutex
	items map[keyID]*item
	ring  item // ring.next was used last, ring.prev is the first to leave
	used  int64
	held  int
	count Stats // Hits, Misses, Evicted and Broken only
}

func newIndex(limit int64) *index {
	x := &index{limit: limit, items: make(map[keyID]*item)}
	x.ring.prev, x.ring.next = &x.ring, &x.ring
	return x
}

// pin finds an item and keeps its bytes counted until unpin. It tells whether
// the file's time of last use is to be set to now.
func (x *index) pin(key keyID, now int64) (it *item, touch bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	it = x.items[key]
	if it == nil {
		return nil, false
	}
	it.unlink()
	it.linkAfter(&x.ring)
	it.pins++
	x.held++
	// Either way: a clock that was ahead must not keep an entry for ever.
	if since := now - it.used; since > int64(touchEvery) || -since > int64(touchEvery) {
		it.used, touch = now, true
	}
	return it, touch
}

func (x *index) unpin(it *item) {
	x.mu.Lock()
	defer x.mu.Unlock()
	it.pins--
	x.held--
	x.free(it)
}

// reserve takes cost bytes off what is free. When there are too few it takes
// nothing and names the items that leave, which are out of the index then.
func (x *index) reserve(cost int64) (leaving []*item, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	missing := x.used + cost - x.limit
	if missing <= 0 {
		x.used += cost
		return nil, nil
	}
	leaving, found := x.oldest(missing)
	if found < missing {
		return nil, ErrFull
	}
	x.evict(leaving)
	return leaving, nil
}

// giveWay names items of cost bytes that leave though the limit is kept, or
// of as many as there are.
func (x *index) giveWay(cost int64) []*item {
	x.mu.Lock()
	defer x.mu.Unlock()
	leaving, _ := x.oldest(cost)
	x.evict(leaving)
	return leaving
}

// reserveFree takes cost bytes when that many are free.
func (x *index) reserveFree(cost int64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.used+cost > x.limit {
		return false
	}
	x.used += cost
	return true
}

// release gives back what reserve took.
func (x *index) release(cost int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.used -= cost
}

// add enters an item whose cost is reserved. It gives the one it replaces.
func (x *index) add(it *item) (old *item) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if old = x.items[it.name.key]; old != nil {
		x.take(old)
	}
	x.items[it.name.key] = it
	it.linkAfter(&x.ring)
	return old
}

// drop takes an item out unless it is out already.
func (x *index) drop(it *item) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if it.gone {
		return false
	}
	x.take(it)
	return true
}

// dropKey takes out what lies under key, if anything does.
func (x *index) dropKey(key keyID) *item {
	x.mu.Lock()
	defer x.mu.Unlock()
	it := x.items[key]
	if it != nil {
		x.take(it)
	}
	return it
}

// dropGroup takes out a group, or everything when group is nil.
func (x *index) dropGroup(group *groupID) []*item {
	x.mu.Lock()
	defer x.mu.Unlock()
	var dropped []*item
	for _, it := range x.items {
		if group == nil || it.name.group == *group {
			dropped = append(dropped, it)
			x.take(it)
		}
	}
	return dropped
}

// overwritten tells whether an item that is out has a successor of its name.
func (x *index) overwritten(it *item) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	successor := x.items[it.name.key]
	return successor != nil && successor.name == it.name
}

// settle notes that the file of an item that is out has been removed.
func (x *index) settle(it *item) {
	x.mu.Lock()
	defer x.mu.Unlock()
	it.removed = true
	x.free(it)
}

// counted adds one lookup.
func (x *index) counted(hit bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if hit {
		x.count.Hits++
	} else {
		x.count.Misses++
	}
}

func (x *index) countBroken() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.count.Broken++
}

func (x *index) stats() Stats {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.count
	s.Entries, s.Bytes, s.Held = len(x.items), x.used, x.held
	return s
}

// oldest, evict, take and free need mu.

// oldest finds items of enough bytes, or of as many as there are. A file that
// is being read would keep its blocks after it is removed, so it stays.
func (x *index) oldest(enough int64) (found []*item, bytes int64) {
	for it := x.ring.prev; it != &x.ring && bytes < enough; it = it.prev {
		if it.pins == 0 {
			found = append(found, it)
			bytes += it.cost
		}
	}
	return found, bytes
}

func (x *index) evict(leaving []*item) {
	for _, it := range leaving {
		x.take(it)
	}
	x.count.Evicted += uint64(len(leaving))
}

func (x *index) take(it *item) {
	delete(x.items, it.name.key)
	it.unlink()
	it.gone = true
}

func (x *index) free(it *item) {
	if it.gone && it.removed && it.pins == 0 {
		x.used -= it.cost
	}
}

func (it *item) linkAfter(at *item) {
	it.prev, it.next = at, at.next
	at.next.prev, at.next = it, it
}

func (it *item) unlink() {
	it.prev.next, it.next.prev = it.next, it.prev
	it.prev, it.next = nil, nil
}
