package spool_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"testing"
	"testing/iotest"

	"github.com/spillway-media/spillway/internal/spool"
)

func TestMemoryIsCountedExactlyOnceASpoolIsFinished(t *testing.T) {
	cases := map[string]struct {
		pieces []int
		expect int64
		want   spool.Stats
	}{
		"a few bytes take a page":                       {pieces: []int{10}, want: spool.Stats{MemoryBytes: 4096}},
		"small spools take a power of two":              {pieces: []int{4096, 1}, want: spool.Stats{MemoryBytes: 8192}},
		"large ones that grew take whole pages":         {pieces: []int{300_000, 500_000, 400_000}, want: spool.Stats{MemoryBytes: 1_200_128}},
		"large ones at once take whole pages":           {pieces: []int{1_200_000}, want: spool.Stats{MemoryBytes: 1_200_128}},
		"expected bytes take no more":                   {pieces: []int{1000, 1_199_000}, expect: 1_200_000, want: spool.Stats{MemoryBytes: 1_200_128}},
		"bytes that do not come are given back":         {pieces: []int{1000, 299_000}, expect: 4 << 20, want: spool.Stats{MemoryBytes: 303_104}},
		"more than expected may come":                   {pieces: []int{1000, 299_000}, expect: 2000, want: spool.Stats{MemoryBytes: 303_104}},
		"what will not fit goes to disk with its first": {pieces: []int{10}, expect: 5 << 20, want: spool.Stats{DiskBytes: 10}},
		"what did not fit is on disk whole":             {pieces: []int{3 << 20, 3 << 20}, want: spool.Stats{DiskBytes: 6 << 20}},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			pool := newPool(t, spool.Config{MemoryEach: 4 << 20})
			s := pool.New(0)
			defer s.Release()
			s.Expect(tt.expect)
			var content []byte
			for i, n := range tt.pieces {
				piece := randomBytes(n, uint64(i))
				mustWrite(t, s, piece)
				content = append(content, piece...)
			}
			if err := s.Finish(nil); err != nil {
				t.Fatal(err)
			}
			tt.want.Open = 1
			if got := pool.Stats(); got != tt.want {
				t.Errorf("stats = %+v, want %+v", got, tt.want)
			}
			if got, err := s.Bytes(); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%d of %d bytes, %v", len(got), len(content), err)
			}
		})
	}
}

// What a spool says it will hold is bounded by its limit, so that an origin
// cannot move small spools to disk by announcing much.
func TestExpectedBytesAreCutToTheLimit(t *testing.T) {
	pool := newPool(t, spool.Config{})
	s := pool.New(1 << 20)
	defer s.Release()
	s.Expect(1 << 40)
	mustWrite(t, s, []byte("x"))
	if got := pool.Stats(); got.DiskBytes != 0 || got.MemoryBytes != 1<<20 {
		t.Errorf("stats = %+v", got)
	}
}

func TestReadersFollowABufferThatMoves(t *testing.T) {
	s := newPool(t, spool.Config{}).New(0)
	defer s.Release()
	want := randomBytes(3<<20, 1)
	r := s.Reader(t.Context())
	defer r.Close()
	written := make(chan error, 1)
	go func() {
		var err error
		for rest := want; len(rest) > 0 && err == nil; {
			n := min(len(rest), 10_000)
			_, err = s.Write(rest[:n])
			rest = rest[n:]
		}
		written <- errors.Join(err, s.Finish(nil))
	}()
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d of %d bytes, %v", len(got), len(want), err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}

func TestSpoolsLieOutsideTheHeap(t *testing.T) {
	pool := newPool(t, spool.Config{MemoryEach: 64 << 20})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s := pool.New(0)
	defer s.Release()
	piece := make([]byte, 1<<20)
	for range 32 {
		mustWrite(t, s, piece)
	}
	runtime.ReadMemStats(&after)
	if grown := int64(after.TotalAlloc - before.TotalAlloc); grown > 4<<20 {
		t.Errorf("32 MiB in a spool took %d bytes of the heap", grown)
	}
}

// Buffers go from one spool to the next, whose content is its own whatever the
// sizes are.
func TestBuffersOfAnotherSizeAreReused(t *testing.T) {
	pool := newPool(t, spool.Config{})
	for i, size := range []int{1 << 20, 3 << 20, 300_000, 2 << 20, 2<<20 + 1, 10, 1 << 20} {
		for _, expected := range []int{size, 0} {
			s := pool.New(0)
			s.Expect(int64(expected))
			want := randomBytes(size, uint64(i))
			if n, err := io.Copy(s, bytes.NewReader(want)); n != int64(size) || err != nil {
				t.Fatal(n, err)
			}
			if err := s.Finish(nil); err != nil {
				t.Fatal(err)
			}
			if got, err := s.Bytes(); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d of %d bytes, %v", len(got), size, err)
			}
			s.Release()
		}
	}
	if got := pool.Stats(); got != (spool.Stats{}) {
		t.Errorf("stats = %+v", got)
	}
}

func TestCopiesIntoASpoolEndAsTheirSourceDoes(t *testing.T) {
	broken := errors.New("the line is cut")
	for name, tt := range map[string]struct {
		in    io.Reader
		limit int64
		n     int64
		want  error
	}{
		"an end":              {in: bytes.NewReader(make([]byte, 200_000)), n: 200_000},
		"bytes with the end":  {in: iotest.DataErrReader(bytes.NewReader(make([]byte, 200_000))), n: 200_000},
		"a byte at a time":    {in: iotest.OneByteReader(bytes.NewReader(make([]byte, 5000))), n: 5000},
		"a fault":             {in: io.MultiReader(bytes.NewReader(make([]byte, 100)), iotest.ErrReader(broken)), n: 100, want: broken},
		"more than its limit": {in: bytes.NewReader(make([]byte, 200_000)), limit: 100, want: spool.ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			s := newPool(t, spool.Config{}).New(tt.limit)
			defer s.Release()
			// Without a WriterTo in the way.
			n, err := io.Copy(s, struct{ io.Reader }{tt.in})
			if n != tt.n || !errors.Is(err, tt.want) {
				t.Errorf("%d bytes, %v", n, err)
			}
			if s.Size() != tt.n {
				t.Errorf("the spool has %d bytes", s.Size())
			}
		})
	}
}

func TestIdleSpoolsKeepTheirContent(t *testing.T) {
	for _, storage := range storages {
		t.Run(storage.name, func(t *testing.T) {
			s := newPool(t, storage.cfg).New(0)
			defer s.Release()
			want := randomBytes(100_000, 1)
			s.Idle()
			mustWrite(t, s, want)
			if err := s.Finish(nil); err != nil {
				t.Fatal(err)
			}
			got, err := s.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			s.Idle()
			if !bytes.Equal(got, want) {
				t.Error("the content changed")
			}
		})
	}
}

// retaining keeps what it was given, as an HTTP/2 stream does that is reset.
type retaining struct{ pieces [][]byte }

func (r *retaining) Write(p []byte) (int, error) {
	r.pieces = append(r.pieces, p)
	return len(p), nil
}

func TestWritersMayLookAtTheirBytesAfterTheSpoolIsGone(t *testing.T) {
	s := newPool(t, spool.Config{}).New(0)
	mustWrite(t, s, randomBytes(1<<20, 1))
	if err := s.Finish(nil); err != nil {
		t.Fatal(err)
	}
	r, w := s.Reader(t.Context()), &retaining{}
	if n, err := io.Copy(w, r); n != 1<<20 || err != nil {
		t.Fatal(n, err)
	}
	r.Close()
	s.Release()
	sum := 0
	for _, piece := range w.pieces {
		for _, b := range piece { // would end the process if it were unmapped
			sum += int(b)
		}
	}
	if sum == 0 {
		t.Error("nothing was written")
	}
}
