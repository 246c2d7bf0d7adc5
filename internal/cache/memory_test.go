package cache_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/cache"
)

func TestMemoryKeepsWhatWasUsedLast(t *testing.T) {
	m := cache.NewMemory[string](4<<10, 2<<10)
	for _, key := range []string{"a", "b", "c"} {
		if !m.Put(key, "group", "value of "+key, 1000) {
			t.Fatalf("%s was not kept", key)
		}
	}
	if v, ok := m.Get("a"); !ok || v != "value of a" {
		t.Errorf("a = %q, %v", v, ok)
	}
	m.Put("d", "group", "value of d", 1000)
	if _, ok := m.Get("b"); ok {
		t.Error("b was used longest ago and is still there")
	}
	s := m.Stats()
	if s.Entries != 3 || s.Evicted != 1 || s.Hits != 1 || s.Misses != 1 || s.Limit != 4<<10 || s.Bytes <= 3000 || s.Bytes > s.Limit {
		t.Errorf("stats = %+v", s)
	}
}

func TestMemoryRefusesWhatIsTooLarge(t *testing.T) {
	tests := []struct {
		name        string
		limit, each int64
		bytes       int64
		want        bool
	}{
		{"an entry may take all it is allowed", 8 << 10, 1257, 1000, true},
		{"an entry may take no byte more", 8 << 10, 1256, 1000, false},
		{"an eighth is what one may take by default", 8 << 10, 0, 900, false},
		{"no entry is larger than the whole", 1 << 10, 1 << 20, 2000, false},
		{"a limit of nothing keeps nothing", 0, 0, 0, false},
		{"a negative size is refused", 8 << 10, 0, -5, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := cache.NewMemory[int](test.limit, test.each)
			if got := m.Put("k", "", 1, test.bytes); got != test.want {
				t.Errorf("kept = %v, want %v", got, test.want)
			}
			if s := m.Stats(); (s.Entries == 1) != test.want || s.Bytes > s.Limit {
				t.Errorf("stats = %+v", s)
			}
		})
	}
}

func TestMemoryDropsTheOldValueWhenTheNewOneIsTooLarge(t *testing.T) {
	m := cache.NewMemory[int](8<<10, 0)
	m.Put("k", "", 1, 10)
	m.Put("k", "", 2, 1<<20)
	if v, ok := m.Get("k"); ok {
		t.Errorf("the value %d outlived its successor", v)
	}
}

func TestMemoryPurgesAGroup(t *testing.T) {
	m := cache.NewMemory[int](1<<20, 0)
	m.Put("a", "x", 1, 10)
	m.Put("b", "y", 2, 20)
	m.Put("c", "x", 3, 30)
	if got := m.Purge("x"); got.Entries != 2 || got.Bytes < 40 {
		t.Errorf("purged %+v, want two entries", got)
	}
	if _, ok := m.Get("b"); !ok {
		t.Error("an entry of another group is gone")
	}
	if got := m.Purge(""); got.Entries != 1 {
		t.Errorf("purged %+v, want the one that was left", got)
	}
	if s := m.Stats(); s.Entries != 0 || s.Bytes != 0 {
		t.Errorf("stats = %+v, want nothing left", s)
	}
}

// FuzzMemoryAgainstAModel plays random calls and compares with a plain list.
// Each call is three bytes: what, on which key, how much.
func FuzzMemoryAgainstAModel(f *testing.F) {
	f.Add([]byte{0, 1, 200, 0, 2, 200, 1, 1, 0, 0, 3, 250, 0, 4, 250, 1, 2, 0})
	f.Add([]byte{0, 1, 200, 3, 1, 0, 0, 1, 100, 2, 1, 0, 1, 1, 0})
	f.Fuzz(func(t *testing.T, calls []byte) {
		const limit, each = 8 << 10, 3 << 10
		m := cache.NewMemory[byte](limit, each)
		var model []modelEntry // most recently used first
		for ; len(calls) >= 3; calls = calls[3:] {
			key, bytes := calls[1]%16, int64(calls[2])*16
			model = playMemory(t, m, model, calls[0]%4, key, bytes)
			var sum int64
			for _, e := range model {
				sum += e.cost
			}
			s := m.Stats()
			if diff := cmp.Diff([]int64{int64(len(model)), sum}, []int64{int64(s.Entries), s.Bytes}); diff != "" || s.Bytes > limit {
				t.Fatalf("entries and bytes differ (-want +got):\n%s", diff)
			}
		}
	})
}

type modelEntry struct {
	key  byte
	cost int64
}

func playMemory(t *testing.T, m *cache.Memory[byte], model []modelEntry, what, key byte, bytes int64) []modelEntry {
	t.Helper()
	name, group := strconv.Itoa(int(key)), strconv.Itoa(int(key%3)+1)
	at := slices.IndexFunc(model, func(e modelEntry) bool { return e.key == key })
	without := func() {
		if at >= 0 {
			model = slices.Delete(model, at, at+1)
		}
	}
	switch what {
	case 0:
		entry := modelEntry{key, bytes + int64(len(name)+len(group)) + 256}
		kept := m.Put(name, group, key, bytes)
		without()
		if kept != (entry.cost <= 3<<10) {
			t.Fatalf("kept = %v of %d bytes", kept, entry.cost)
		}
		if kept {
			model = append([]modelEntry{entry}, model...)
		}
		for sum := int64(0); ; sum = 0 {
			for _, e := range model {
				sum += e.cost
			}
			if sum <= 8<<10 {
				break
			}
			model = model[:len(model)-1]
		}
	case 1:
		v, ok := m.Get(name)
		if ok != (at >= 0) || (ok && v != key) {
			t.Fatalf("get %s = %d, %v; the model has it at %d", name, v, ok, at)
		}
		if ok {
			e := model[at]
			without()
			model = append([]modelEntry{e}, model...)
		}
	case 2:
		m.Delete(name)
		without()
	case 3:
		m.Purge(group)
		model = slices.DeleteFunc(model, func(e modelEntry) bool { return e.key%3 == key%3 })
	}
	return model
}
