package spool_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/spillway-media/spillway/internal/spool"
)

// BenchmarkWriteSpool is one picture's way in and out again: written in the
// pieces an encoder makes, read to the end by one reader.
func BenchmarkWriteSpool(b *testing.B) {
	piece := make([]byte, 16<<10)
	for _, size := range []int{16 << 10, 256 << 10, 4 << 20, 32 << 20} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			pool := newPool(b, spool.Config{})
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				s := pool.New(0)
				s.Expect(int64(size))
				for range size / len(piece) {
					if _, err := s.Write(piece); err != nil {
						b.Fatal(err)
					}
				}
				s.Finish(nil)
				r := s.Reader(b.Context())
				if n, err := io.Copy(io.Discard, r); err != nil || n != int64(size) {
					b.Fatal(n, err)
				}
				r.Close()
				s.Release()
			}
		})
	}
}

// BenchmarkFollowSpool has four readers behind a writer that is not done.
func BenchmarkFollowSpool(b *testing.B) {
	const size = 1 << 20
	piece := make([]byte, 16<<10)
	pool := newPool(b, spool.Config{})
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		s := pool.New(0)
		done := make(chan error)
		for range 4 {
			r := s.Reader(b.Context())
			go func() {
				_, err := io.Copy(io.Discard, r)
				r.Close()
				done <- err
			}()
		}
		for range size / len(piece) {
			if _, err := s.Write(piece); err != nil {
				b.Fatal(err)
			}
		}
		s.Finish(nil)
		for range 4 {
			if err := <-done; err != nil {
				b.Fatal(err)
			}
		}
		s.Release()
	}
}
