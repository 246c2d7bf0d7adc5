package cache_test

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/spillway-media/spillway/internal/cache"
)

func open(t *testing.T, dir string, limit int64) *cache.Disk {
	t.Helper()
	d, err := cache.OpenDisk(cache.DiskConfig{Dir: dir, Limit: limit}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func TestDiskKeepsWhatWasPut(t *testing.T) {
	dir := t.TempDir()
	for _, size := range []int{0, 1, 4000, 64 << 10, 300 << 10} {
		d := open(t, dir, 8<<20)
		part := bytes.Repeat([]byte("spill"), size/5+1)[:size]
		if err := d.Put("key", "group", []byte("meta"), part, []byte("second")); err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		d = open(t, dir, 8<<20)
		e, ok := d.Get("key")
		if !ok {
			t.Fatalf("an entry of %d bytes is gone after a restart", size)
		}
		if string(e.Meta) != "meta" || !bytes.Equal(e.Parts[0], part) || string(e.Parts[1]) != "second" {
			t.Errorf("an entry of %d bytes came back otherwise", size)
		}
		e.Close()
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
