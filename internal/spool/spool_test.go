package spool_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/spillway-media/spillway/internal/spool"
)

// newPool makes a pool and checks at the end of the test that nothing of it
// is left: no spool, no byte, no file name.
func newPool(t testing.TB, cfg spool.Config) *spool.Pool {
	t.Helper()
	if cfg.Dir == "" {
		cfg.Dir = t.TempDir()
	}
	pool, err := spool.NewPool(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if got := pool.Stats(); got != (spool.Stats{}) {
			t.Errorf("stats at the end = %+v, want zeros", got)
		}
		names, err := filepath.Glob(filepath.Join(cfg.Dir, "*"))
		if err != nil || len(names) > 0 {
			t.Errorf("files at the end = %v, %v", names, err)
		}
	})
	return pool
}

// storages are the three ways a spool's bytes can lie.
var storages = []struct {
	name string
	cfg  spool.Config
}{
	{"in memory", spool.Config{}},
	{"moving from memory to disk", spool.Config{MemoryEach: 8 << 10}},
	{"on disk from the start", spool.Config{MemoryEach: 1}},
}

func randomBytes(n int, seed uint64) []byte {
	out := make([]byte, n)
	random := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	_, _ = random.Read(out)
	return out
}

func mustWrite(t testing.TB, s *spool.Spool, p []byte) {
	t.Helper()
	if n, err := s.Write(p); err != nil || n != len(p) {
		t.Fatalf("Write = %d, %v, want %d", n, err, len(p))
	}
}

func TestBytesAndReadersGiveWhatWasWritten(t *testing.T) {
	for _, storage := range storages {
		t.Run(storage.name, func(t *testing.T) {
			pool := newPool(t, storage.cfg)
			for _, size := range []int{0, 1, 4095, 4096, 4097, 8192, 8193, 300_000} {
				want := randomBytes(size, uint64(size))
				s := pool.New(0)
				for rest := want; len(rest) > 0; {
					n := min(len(rest), 1+len(rest)/3)
					mustWrite(t, s, rest[:n])
					rest = rest[n:]
				}
				if err := s.Finish(nil); err != nil {
					t.Fatal(err)
				}
				got, err := s.Bytes()
				if err != nil || !bytes.Equal(got, want) {
					t.Fatalf("size %d: Bytes differ, %v", size, err)
				}
				r := s.Reader(t.Context())
				if err := iotest.TestReader(r, want); err != nil {
					t.Errorf("size %d: %v", size, err)
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
				s.Release()
			}
		})
	}
}

// follow reads to the end in odd steps.
func follow(r io.Reader, seed uint64) ([]byte, error) {
	random := rand.New(rand.NewPCG(seed, 1))
	var out []byte
	buf := make([]byte, 20_000)
	for {
		n, err := r.Read(buf[:1+random.IntN(len(buf))])
		out = append(out, buf[:n]...)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
	}
}

func TestReadersFollowTheWriterWithoutTornReads(t *testing.T) {
	for _, storage := range storages {
		t.Run(storage.name, func(t *testing.T) {
			pool := newPool(t, storage.cfg)
			want := randomBytes(700_000, 7)
			s := pool.New(0)
			defer s.Release()
			var wait sync.WaitGroup
			for i := range 6 {
				r := s.Reader(t.Context())
				wait.Go(func() {
					defer r.Close()
					got, err := follow(r, uint64(i))
					if i%2 == 0 {
						return
					}
					if err != nil || !bytes.Equal(got, want) {
						t.Errorf("reader %d: %d bytes differ, %v", i, len(got), err)
					}
				})
				copying := s.Reader(t.Context())
				wait.Go(func() {
					defer copying.Close()
					var got bytes.Buffer
					n, err := copying.WriteTo(&got)
					if err != nil || n != int64(len(want)) || !bytes.Equal(got.Bytes(), want) {
						t.Errorf("copying reader %d: %d bytes differ, %v", i, n, err)
					}
				})
			}
			random := rand.New(rand.NewPCG(1, 2))
			for rest := want; len(rest) > 0; {
				n := min(len(rest), 1+random.IntN(9000))
				mustWrite(t, s, rest[:n])
				rest = rest[n:]
			}
			if err := s.Finish(nil); err != nil {
				t.Error(err)
			}
			wait.Wait()
		})
	}
}

func TestReadersGetTheWritersErrorAfterItsBytes(t *testing.T) {
	broken := errors.New("encoder broke")
	for _, storage := range storages {
		t.Run(storage.name, func(t *testing.T) {
			s := newPool(t, storage.cfg).New(0)
			defer s.Release()
			mustWrite(t, s, []byte("half a picture"))
			r := s.Reader(t.Context())
			defer r.Close()
			if err := s.Finish(broken); err != broken {
				t.Errorf("Finish = %v", err)
			}
			got, err := io.ReadAll(r)
			if string(got) != "half a picture" || !errors.Is(err, broken) {
				t.Errorf("ReadAll = %q, %v", got, err)
			}
			if _, err := s.Bytes(); !errors.Is(err, broken) {
				t.Errorf("Bytes error = %v", err)
			}
			if err := s.Wait(t.Context(), 1); !errors.Is(err, broken) {
				t.Errorf("Wait error = %v", err)
			}
		})
	}
}

func TestAnEOFIsNoGoodEndUnlessTheWriterDeclaresIt(t *testing.T) {
	s := newPool(t, spool.Config{}).New(0)
	defer s.Release()
	mustWrite(t, s, []byte("half"))
	s.Finish(fmt.Errorf("read more: %w", io.EOF))
	r := s.Reader(t.Context())
	defer r.Close()
	if _, err := io.ReadAll(r); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("reader's end after Finish(io.EOF) = %v", err)
	}
	if _, err := s.Bytes(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Bytes after Finish(io.EOF) = %v", err)
	}
}

func TestWriteToTellsAWritersEOFFromTheEnd(t *testing.T) {
	s := newPool(t, spool.Config{}).New(0)
	defer s.Release()
	mustWrite(t, s, []byte("bytes"))
	s.Finish(nil)
	r := s.Reader(t.Context())
	defer r.Close()
	if n, err := r.WriteTo(eofWriter{}); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("WriteTo = %d, %v, want the writer's error", n, err)
	}
}

type eofWriter struct{}

func (eofWriter) Write([]byte) (int, error) { return 0, io.EOF }

func TestABlockedReaderEnds(t *testing.T) {
	reason := errors.New("client left")
	cases := []struct {
		name string
		end  func(s *spool.Spool, r *spool.Reader, cancel context.CancelCauseFunc)
		want error
	}{
		{"when its context ends, with the cause", func(_ *spool.Spool, _ *spool.Reader, cancel context.CancelCauseFunc) { cancel(reason) }, reason},
		{"when it is closed", func(_ *spool.Spool, r *spool.Reader, _ context.CancelCauseFunc) { r.Close() }, os.ErrClosed},
		{"when the writer finishes", func(s *spool.Spool, _ *spool.Reader, _ context.CancelCauseFunc) { s.Finish(nil) }, io.EOF},
		{"when the writer fails", func(s *spool.Spool, _ *spool.Reader, _ context.CancelCauseFunc) { s.Finish(reason) }, reason},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newPool(t, spool.Config{}).New(0)
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				r := s.Reader(ctx)
				got := make(chan error, 1)
				go func() {
					_, err := r.Read(make([]byte, 1))
					got <- err
				}()
				synctest.Wait()
				select {
				case err := <-got:
					t.Fatalf("Read came back early: %v", err)
				default:
				}
				c.end(s, r, cancel)
				if err := <-got; !errors.Is(err, c.want) {
					t.Errorf("Read error = %v, want %v", err, c.want)
				}
				r.Close()
				s.Release()
			})
		})
	}
}

func TestWaitReturnsAtTheAskedSizeOrTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPool(t, spool.Config{}).New(0)
		defer s.Release()
		got := make(chan int64, 1)
		go func() {
			if err := s.Wait(t.Context(), 10); err != nil {
				t.Error(err)
			}
			got <- s.Size()
		}()
		mustWrite(t, s, make([]byte, 9))
		synctest.Wait()
		if len(got) > 0 {
			t.Fatal("Wait came back with 9 bytes")
		}
		mustWrite(t, s, make([]byte, 2))
		if size := <-got; size != 11 {
			t.Errorf("size = %d", size)
		}
		s.Finish(nil)
		if err := s.Wait(t.Context(), 100); err != nil {
			t.Errorf("Wait on a complete spool = %v", err)
		}
	})
}

func TestLimits(t *testing.T) {
	cases := []struct {
		name  string
		cfg   spool.Config
		limit int64
		want  error
	}{
		{"its own limit is ErrTooLarge", spool.Config{}, 10_000, spool.ErrTooLarge},
		{"its own limit on disk is ErrTooLarge", spool.Config{MemoryEach: 1}, 10_000, spool.ErrTooLarge},
		{"used up memory and disk is ErrFull", spool.Config{MemoryAll: 4096, DiskAll: 10_000}, 0, spool.ErrFull},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newPool(t, c.cfg).New(c.limit)
			defer s.Release()
			mustWrite(t, s, make([]byte, 4000))
			mustWrite(t, s, make([]byte, 6000))
			if n, err := s.Write(make([]byte, 1)); n != 0 || !errors.Is(err, c.want) {
				t.Errorf("Write = %d, %v, want %v", n, err, c.want)
			}
			if n, err := s.Write(nil); n != 0 || !errors.Is(err, c.want) {
				t.Errorf("a later Write = %d, %v, want the same error", n, err)
			}
			if err := s.Finish(nil); !errors.Is(err, c.want) {
				t.Errorf("Finish(nil) = %v: a spool that lost bytes was declared complete", err)
			}
			r := s.Reader(t.Context())
			defer r.Close()
			if _, err := io.ReadAll(r); !errors.Is(err, c.want) {
				t.Errorf("reader's end = %v, want %v", err, c.want)
			}
		})
	}
}

func TestMemoryBudgetIsShared(t *testing.T) {
	pool := newPool(t, spool.Config{MemoryEach: 64 << 10, MemoryAll: 64 << 10, DiskAll: 1 << 20})
	first, second := pool.New(0), pool.New(0)
	mustWrite(t, first, make([]byte, 60<<10))
	mustWrite(t, second, make([]byte, 60<<10))
	want := spool.Stats{Open: 2, MemoryBytes: 64 << 10, DiskBytes: 60 << 10}
	if got := pool.Stats(); got != want {
		t.Errorf("stats = %+v, want %+v", got, want)
	}
	first.Release()
	third := pool.New(0)
	mustWrite(t, third, make([]byte, 60<<10))
	if got := pool.Stats(); got != want {
		t.Errorf("stats after one was released = %+v, want %+v", got, want)
	}
	second.Release()
	third.Release()
}

func TestReleasedSpoolsGiveErrorsNotCrashes(t *testing.T) {
	for _, storage := range storages {
		t.Run(storage.name, func(t *testing.T) {
			s := newPool(t, storage.cfg).New(0)
			r := s.Reader(t.Context())
			mustWrite(t, s, make([]byte, 10_000))
			r.Close()
			r.Close()
			s.Release()
			s.Release()
			if s.Retain() {
				t.Error("Retain brought a released spool back")
			}
			_, writeErr := s.Write([]byte("x"))
			_, bytesErr := s.Bytes()
			late := s.Reader(t.Context())
			_, readErr := late.Read(make([]byte, 1))
			_, copyErr := late.WriteTo(io.Discard)
			for name, err := range map[string]error{
				"Write": writeErr, "Bytes": bytesErr, "Finish": s.Finish(nil),
				"Wait": s.Wait(t.Context(), 1), "Read": readErr, "WriteTo": copyErr,
			} {
				if !errors.Is(err, spool.ErrReleased) {
					t.Errorf("%s = %v, want ErrReleased", name, err)
				}
			}
			if err := late.Close(); err != nil {
				t.Error(err)
			}
			if _, err := r.Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
				t.Errorf("Read of a closed reader = %v", err)
			}
		})
	}
}

func TestFinishedAndClosedRefuseWrites(t *testing.T) {
	pool := newPool(t, spool.Config{})
	s := pool.New(0)
	defer s.Release()
	mustWrite(t, s, []byte("kept"))
	if _, err := s.Bytes(); !errors.Is(err, spool.ErrUnfinished) {
		t.Errorf("Bytes before Finish = %v", err)
	}
	s.Finish(nil)
	if err := s.Finish(errors.New("late")); err != nil {
		t.Errorf("a second Finish = %v, want the first one's nil", err)
	}
	if _, err := s.Write([]byte("x")); !errors.Is(err, spool.ErrFinished) {
		t.Errorf("Write after Finish = %v", err)
	}
	pool.Close()
	late := pool.New(0)
	defer late.Release()
	if _, err := late.Write([]byte("x")); !errors.Is(err, spool.ErrClosed) {
		t.Errorf("Write after the pool's Close = %v", err)
	}
	if got, err := s.Bytes(); string(got) != "kept" || err != nil {
		t.Errorf("Bytes after the pool's Close = %q, %v", got, err)
	}
}

func TestASlowReaderDoesNotHoldTheWriter(t *testing.T) {
	s := newPool(t, spool.Config{MemoryEach: 8 << 10}).New(0)
	slow, into := s.Reader(t.Context()), &stuckWriter{entered: make(chan struct{}), leave: make(chan struct{})}
	done := make(chan error, 1)
	go func() {
		_, err := slow.WriteTo(into)
		done <- err
	}()
	mustWrite(t, s, make([]byte, 4096))
	<-into.entered
	mustWrite(t, s, make([]byte, 100_000))
	s.Finish(nil)
	s.Release()
	close(into.leave)
	if err := <-done; err != nil || into.n != 104_096 {
		t.Errorf("slow reader got %d bytes, %v", into.n, err)
	}
	slow.Close()
}

// stuckWriter blocks in its first Write until leave is closed.
type stuckWriter struct {
	entered, leave chan struct{}
	n              int
}

func (w *stuckWriter) Write(p []byte) (int, error) {
	if w.n == 0 {
		close(w.entered)
		<-w.leave
	}
	w.n += len(p)
	return len(p), nil
}

func TestWriteToReportsTheWritersFault(t *testing.T) {
	for _, storage := range storages {
		t.Run(storage.name, func(t *testing.T) {
			s := newPool(t, storage.cfg).New(0)
			defer s.Release()
			mustWrite(t, s, make([]byte, 200_000))
			s.Finish(nil)
			r := s.Reader(t.Context())
			defer r.Close()
			n, err := r.WriteTo(&shortWriter{room: 100_000})
			if n != 100_000 || !errors.Is(err, io.ErrShortWrite) {
				t.Errorf("WriteTo = %d, %v", n, err)
			}
			rest, err := io.ReadAll(r)
			if len(rest) != 100_000 || err != nil {
				t.Errorf("the rest = %d bytes, %v", len(rest), err)
			}
		})
	}
}

type shortWriter struct{ room int }

func (w *shortWriter) Write(p []byte) (int, error) {
	n := min(len(p), w.room)
	w.room -= n
	return n, nil
}

func TestConcurrentCloseWhileReading(t *testing.T) {
	for _, storage := range storages {
		t.Run(storage.name, func(t *testing.T) {
			pool := newPool(t, storage.cfg)
			for range 50 {
				s := pool.New(0)
				mustWrite(t, s, bytes.Repeat([]byte{7}, 50_000))
				s.Finish(nil)
				r := s.Reader(t.Context())
				s.Release()
				var wait sync.WaitGroup
				wait.Go(func() {
					got, _ := follow(r, 3)
					for _, b := range got {
						if b != 7 {
							t.Error("a byte of another spool came through")
							return
						}
					}
				})
				wait.Go(func() { r.Close() })
				wait.Wait()
			}
		})
	}
}

func TestConfigFaultsAreAllNamed(t *testing.T) {
	_, err := spool.NewPool(spool.Config{Dir: t.TempDir(), MemoryEach: -1, MemoryAll: -2, DiskAll: -3})
	for _, key := range []string{"spool-memory-each", "spool-memory:", "spool-disk"} {
		if err == nil || !bytes.Contains([]byte(err.Error()), []byte(key)) {
			t.Errorf("error %v does not name %s", err, key)
		}
	}
	if _, err := spool.NewPool(spool.Config{Dir: filepath.Join(t.TempDir(), "missing")}); err == nil {
		t.Error("a missing folder was accepted")
	}
}

// openFiles counts descriptors; where there is no /proc the test fails, as
// it could not see a leak.
func openFiles(t *testing.T) int {
	t.Helper()
	for _, dir := range []string{"/proc/self/fd", "/dev/fd"} {
		if entries, err := os.ReadDir(dir); err == nil {
			return len(entries)
		}
	}
	t.Fatal("no folder lists the open descriptors")
	return 0
}

func TestDescriptorsReturnToWhereTheyBegan(t *testing.T) {
	pool := newPool(t, spool.Config{MemoryEach: 1, DiskAll: 1 << 20})
	before := openFiles(t)
	for i := range 100 {
		s := pool.New(0)
		mustWrite(t, s, make([]byte, 1000))
		r := s.Reader(t.Context())
		if i%3 == 0 {
			_, _ = s.Write(make([]byte, 2<<20)) // beyond the budget
		}
		if s.Finish(nil) == nil {
			if _, err := s.Bytes(); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = io.Copy(io.Discard, r)
		r.Close()
		s.Release()
	}
	if after := openFiles(t); after != before {
		t.Errorf("descriptors: %d before, %d after", before, after)
	}
}
