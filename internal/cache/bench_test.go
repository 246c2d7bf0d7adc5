package cache_test

import (
	"fmt"
	"log/slog"
	"strconv"
	"testing"

	"github.com/spillway-media/spillway/internal/cache"
)

func openBench(b *testing.B, dir string) *cache.Disk {
	b.Helper()
	d, err := cache.OpenDisk(cache.DiskConfig{Dir: dir, Limit: 1 << 30}, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	return d
}

var benchSizes = []int{4 << 10, 20 << 10, 200 << 10, 4 << 20}

func BenchmarkGetEntry(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			d := openBench(b, b.TempDir())
			defer d.Close()
			if err := d.Put("key", "", nil, make([]byte, size)); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(size))
			for b.Loop() {
				e, ok := d.Get("key")
				if !ok {
					b.Fatal("gone")
				}
				e.Close()
			}
		})
	}
}

func BenchmarkPutEntry(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			d := openBench(b, b.TempDir())
			defer d.Close()
			part := make([]byte, size)
			b.SetBytes(int64(size))
			for i := 0; b.Loop(); i++ {
				if err := d.Put(strconv.Itoa(i), "", nil, part); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkOpenFolder(b *testing.B) {
	for _, entries := range []int{1000, 50_000} {
		b.Run(fmt.Sprintf("entries=%d", entries), func(b *testing.B) {
			dir := b.TempDir()
			d := openBench(b, dir)
			for i := range entries {
				if err := d.Put(strconv.Itoa(i), "", nil); err != nil {
					b.Fatal(err)
				}
			}
			_ = d.Close()
			for b.Loop() {
				_ = openBench(b, dir).Close()
			}
		})
	}
}

func BenchmarkGetMemory(b *testing.B) {
	m := cache.NewMemory[int](1<<20, 0)
	m.Put("key", "", 1, 100)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, ok := m.Get("key"); !ok {
				b.Error("gone")
			}
		}
	})
}
