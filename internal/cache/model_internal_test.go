package cache

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// FuzzDiskAgainstAModel plays random calls and compares with a plain list.
// Each call is three bytes: what, on which key, how much.
func FuzzDiskAgainstAModel(f *testing.F) {
	f.Add([]byte{0, 1, 200, 1, 1, 0, 0, 2, 200, 0, 3, 255, 0, 4, 255, 0, 5, 255, 5, 0, 0, 1, 1, 0})
	f.Add(fill(0, 0, 0, 0, 1, 2))
	f.Add(fill(0, 3, 0, 1, 0, 4))
	f.Add(fill(0, 0, 3, 0, 5, 1))
	f.Add(fill(0, 2, 0, 4, 3, 0))
	for seed := range uint64(6) {
		random := rand.New(rand.NewPCG(seed, 0))
		calls := make([]byte, 600)
		for i := range calls {
			calls[i] = byte(random.Uint32())
			if i%3 == 0 && random.IntN(2) == 0 {
				calls[i] = 0 // half of them put, so that it gets full
			}
		}
		f.Add(calls)
	}
	f.Fuzz(func(t *testing.T, calls []byte) {
		m := &diskModel{dir: t.TempDir(), now: time.Now().Add(time.Hour)}
		m.open(t)
		for ; len(calls) >= 3; calls = calls[3:] {
			m.now = m.now.Add(2 * time.Minute)
			m.play(t, calls[0]%6, calls[1]%24, int(calls[2])*2000)
			m.compare(t)
		}
		for _, h := range m.held {
			h.check(t)
			h.Close()
		}
		if err := m.disk.Close(); err != nil {
			t.Error(err)
		}
	})
}

// fill is a hundred calls of a few kinds on many keys.
func fill(kinds ...byte) []byte {
	var calls []byte
	for i := range 100 {
		calls = append(calls, kinds[i%len(kinds)], byte(i*7), byte(100+i*13))
	}
	return calls
}

type diskModel struct {
	dir  string
	now  time.Time
	disk *Disk
	kept []modelItem // least recently used first
	held []heldEntry
	gone int64 // bytes of held entries that are kept no more
}

type modelItem struct {
	key  byte
	size int
	pins int
	in   *bool // whether it is kept still; tells items of one key apart
}

type heldEntry struct {
	*Entry
	key  byte
	size int
	cost int64
	in   *bool // its item's
}

func (h heldEntry) check(t *testing.T) {
	t.Helper()
	if len(h.Parts) != 1 || !bytes.Equal(h.Parts[0], bytes.Repeat([]byte{h.key}, h.size)) {
		t.Errorf("the entry of %d changed while it was held", h.key)
	}
}

func keyText(key byte) string     { return fmt.Sprint("key ", key) }
func groupText(key byte) string   { return fmt.Sprint("group ", key%3) }
func modelCost(size int) int64    { return costOf(int64(fixedHead + partEntry + size)) }
func (m *diskModel) limit() int64 { return MinLimit - folderShare }

func (m *diskModel) open(t *testing.T) {
	t.Helper()
	m.disk = openAt(t, m.dir, MinLimit, func() time.Time { return m.now })
}

func (m *diskModel) at(key byte) int {
	return slices.IndexFunc(m.kept, func(i modelItem) bool { return i.key == key })
}

// lose takes an item out; what somebody holds of it counts on.
func (m *diskModel) lose(at int) {
	item := m.kept[at]
	if item.pins > 0 {
		m.gone += modelCost(item.size)
	}
	*item.in = false
	m.kept = slices.Delete(m.kept, at, at+1)
}

func (m *diskModel) used() int64 {
	used := m.gone
	for _, i := range m.kept {
		used += modelCost(i.size)
	}
	return used
}

func (m *diskModel) play(t *testing.T, what, key byte, size int) {
	t.Helper()
	at := m.at(key)
	switch what {
	case 0:
		m.put(t, key, size)
	case 1:
		m.get(t, key, at, false)
	case 2:
		m.get(t, key, at, len(m.held) < 4)
	case 3:
		m.disk.Delete(keyText(key))
		if at >= 0 {
			m.lose(at)
		}
	case 4:
		if _, err := m.disk.Purge(groupText(key)); err != nil {
			t.Fatal(err)
		}
		for i := len(m.kept) - 1; i >= 0; i-- {
			if m.kept[i].key%3 == key%3 {
				m.lose(i)
			}
		}
	case 5:
		m.letGo(t)
	}
}

func (m *diskModel) put(t *testing.T, key byte, size int) {
	t.Helper()
	cost, want := modelCost(size), error(nil)
	if cost > MinLimit/8 {
		want = ErrTooLarge
	} else if !m.room(cost) {
		want = ErrFull
	}
	err := m.disk.Put(keyText(key), groupText(key), nil, bytes.Repeat([]byte{key}, size))
	if !errors.Is(err, want) {
		t.Fatalf("put %d bytes = %v, want %v", size, err, want)
	}
	if err != nil {
		return
	}
	h, err := newHeader(keyText(key), groupText(key), m.now, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	// The kernel's clock is not the model's.
	if err := os.Chtimes(m.disk.path(nameOf(h.key, h.group)), time.Time{}, m.now); err != nil {
		t.Fatal(err)
	}
	if at := m.at(key); at >= 0 {
		m.lose(at)
	}
	in := true
	m.kept = append(m.kept, modelItem{key, size, 0, &in})
}

// room lets items leave, oldest first and those that are held not at all.
func (m *diskModel) room(cost int64) bool {
	free := m.limit() - m.used()
	var leave []byte
	for _, i := range m.kept {
		if free >= cost {
			break
		}
		if i.pins == 0 {
			free += modelCost(i.size)
			leave = append(leave, i.key)
		}
	}
	if free < cost {
		return false
	}
	for _, key := range leave {
		m.lose(m.at(key))
	}
	return true
}

func (m *diskModel) get(t *testing.T, key byte, at int, hold bool) {
	t.Helper()
	e, ok := m.disk.Get(keyText(key))
	if ok != (at >= 0) {
		t.Fatalf("get %d = %v; the model has it at %d", key, ok, at)
	}
	if !ok {
		return
	}
	item := m.kept[at]
	h := heldEntry{e, key, item.size, modelCost(item.size), item.in}
	h.check(t)
	m.kept = append(slices.Delete(m.kept, at, at+1), item)
	if !hold {
		e.Close()
		return
	}
	m.kept[len(m.kept)-1].pins++
	m.held = append(m.held, h)
}

// letGo closes what was held longest, or restarts when nothing is held.
func (m *diskModel) letGo(t *testing.T) {
	t.Helper()
	if len(m.held) == 0 {
		if err := m.disk.Close(); err != nil {
			t.Fatal(err)
		}
		m.open(t)
		return
	}
	h := m.held[0]
	m.held = m.held[1:]
	h.check(t)
	h.Close()
	if *h.in {
		m.kept[m.at(h.key)].pins--
		return
	}
	// Another may hold the same item still; its bytes are one item's.
	for _, other := range m.held {
		if other.in == h.in {
			return
		}
	}
	m.gone -= h.cost
}

func (m *diskModel) compare(t *testing.T) {
	t.Helper()
	s := m.disk.Stats()
	if s.Entries != len(m.kept) || s.Bytes != m.used() || s.Held != len(m.held) || s.Broken != 0 {
		t.Fatalf("stats = %+v, want %d entries, %d bytes, %d held", s, len(m.kept), m.used(), len(m.held))
	}
	if s.Bytes > m.limit() {
		t.Fatalf("%d bytes are over the limit", s.Bytes)
	}
	if folder, err := Survey(m.dir); err != nil || folder.Entries != s.Entries {
		t.Fatalf("folder = %+v, %v, want %d entries", folder, err, s.Entries)
	}
}

// TestDiskIsSafeForConcurrentUse lets everybody do everything on few keys and
// little room, and then counts what is left.
func TestDiskIsSafeForConcurrentUse(t *testing.T) {
	dir := t.TempDir()
	d := openAt(t, dir, MinLimit, time.Now)
	var wait sync.WaitGroup
	var hits, over atomic.Int64
	for worker := range 8 {
		wait.Go(func() {
			for i := range 150 {
				key := byte((i*7 + worker*3) % 12)
				switch {
				case i%40 == 39:
					_, _ = d.Purge(groupText(key))
				case i%50 == 49:
					_, _ = PurgeFolder(dir, groupText(key))
				case i%20 == 19:
					d.Delete(keyText(key))
				case i%2 == 0:
					size := 1000 + (i*worker*997)%(400<<10)
					err := d.Put(keyText(key), groupText(key), nil, bytes.Repeat([]byte{key}, size))
					if err != nil && !errors.Is(err, ErrFull) {
						t.Errorf("put: %v", err)
					}
				default:
					if e, ok := d.Get(keyText(key)); ok {
						hits.Add(1)
						heldEntry{Entry: e, key: key, size: len(e.Parts[0])}.check(t)
						e.Close()
					}
				}
				if s := d.Stats(); s.Bytes > MinLimit-folderShare {
					over.Add(1)
				}
			}
		})
	}
	wait.Wait()
	if err := d.heed(nil); err != nil {
		t.Error(err)
	}
	if hits.Load() == 0 || over.Load() > 0 {
		t.Errorf("%d entries were found; %d times the limit was exceeded", hits.Load(), over.Load())
	}
	s := d.Stats()
	folder, err := Survey(dir)
	if err != nil || s.Held != 0 || s.Broken != 0 || s.Entries != folder.Entries || s.Bytes != folder.Bytes {
		t.Errorf("stats = %+v, the folder has %+v, %v", s, folder, err)
	}
	left, err := os.ReadDir(filepath.Join(dir, tempFolder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) || len(left) > 0 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
}
