package transform

import "testing"

func TestCache(t *testing.T) {
	picture := func(key string, n int) *entry {
		return &entry{key: key, outputs: []cachedPicture{{data: make([]byte, n)}}}
	}
	t.Run("what was used last stays when room is needed", func(t *testing.T) {
		c := newCache(10 * (1000 + entryOverhead + 1))
		for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
			c.put(picture(key, 1000))
		}
		if c.get("a") == nil {
			t.Fatal("a is missing before the cache is full")
		}
		c.put(picture("k", 1000))
		if c.get("a") == nil || c.get("b") != nil {
			t.Fatal("the least recently used entry was b and should have gone alone")
		}
	})
	t.Run("one result may not take more than an eighth", func(t *testing.T) {
		c := newCache(80_000)
		c.put(picture("big", 10_001))
		if s := c.stats(); s.entries != 0 || s.bytes != 0 {
			t.Fatalf("kept a result that is too large: %+v", s)
		}
	})
	t.Run("the same key twice counts once", func(t *testing.T) {
		c := newCache(80_000)
		c.put(picture("x", 100))
		c.put(picture("x", 200))
		if s := c.stats(); s.entries != 1 || s.bytes != 200+entryOverhead+1 {
			t.Fatalf("after two puts of one key: %+v", s)
		}
	})
}
