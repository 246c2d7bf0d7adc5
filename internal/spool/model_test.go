package spool_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/spillway-media/spillway/internal/spool"
)

// FuzzSpoolAgainstABuffer plays random writes, reads and a finish, and
// compares with bytes.Buffer. Each operation is two bytes: what, how much.
func FuzzSpoolAgainstABuffer(f *testing.F) {
	f.Add([]byte{0, 10, 1, 5, 0, 200, 1, 255, 2, 0, 1, 9})
	f.Add(bytes.Repeat([]byte{0, 255, 1, 100}, 40))
	f.Add([]byte{3, 0, 0, 1, 0, 255, 1, 255})
	f.Add(bytes.Repeat([]byte{0, 90, 4, 0, 1, 60}, 60))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, ops []byte) {
		pool := newPool(t, spool.Config{Dir: dir, MemoryEach: 16 << 10, MemoryAll: 24 << 10, DiskAll: 64 << 10})
		s := pool.New(0)
		defer s.Release()
		model := &model{spool: s}
		model.addReader(t)
		for ; len(ops) >= 2; ops = ops[2:] {
			model.step(t, ops[0]%5, int(ops[1])*37)
		}
		model.finish(t, nil)
		for i := range model.readers {
			model.drain(t, i)
		}
	})
}

// model is what the spool should hold, and how far each reader came.
type model struct {
	spool   *spool.Spool
	want    []byte
	ended   bool
	full    bool
	readers []*spool.Reader
	read    []int
}

func (m *model) step(t *testing.T, op byte, n int) {
	switch op {
	case 0:
		m.write(t, n)
	case 1:
		for i := range m.readers {
			m.readOnce(t, i, n)
		}
	case 2:
		if len(m.readers) < 8 {
			m.addReader(t)
		}
	case 3:
		if n == 0 {
			m.finish(t, nil)
		}
	case 4:
		if got := m.spool.Size(); got != int64(len(m.want)) {
			t.Fatalf("size = %d, want %d", got, len(m.want))
		}
	}
}

func (m *model) addReader(t *testing.T) {
	r := m.spool.Reader(t.Context())
	t.Cleanup(func() { r.Close() })
	m.readers, m.read = append(m.readers, r), append(m.read, 0)
}

func (m *model) write(t *testing.T, n int) {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte((len(m.want) + i) * 31)
	}
	_, err := m.spool.Write(p)
	switch {
	case m.ended:
		if !errors.Is(err, spool.ErrFinished) {
			t.Fatalf("write after finish = %v", err)
		}
	case err != nil:
		if !errors.Is(err, spool.ErrFull) || len(m.want)+n <= 8<<10 {
			t.Fatalf("write of %d after %d = %v", n, len(m.want), err)
		}
		m.full = true
	case m.full:
		t.Fatal("a write went well after one that failed")
	default:
		m.want = append(m.want, p...)
	}
}

// readOnce reads only what is there, as the model has one goroutine.
func (m *model) readOnce(t *testing.T, i, n int) {
	if n == 0 || m.read[i] == len(m.want) {
		return
	}
	p := make([]byte, n)
	got, err := m.readers[i].Read(p)
	if err != nil || got == 0 || !bytes.Equal(p[:got], m.want[m.read[i]:m.read[i]+got]) {
		t.Fatalf("reader %d at %d: %d bytes differ, %v", i, m.read[i], got, err)
	}
	m.read[i] += got
}

func (m *model) finish(t *testing.T, err error) {
	got := m.spool.Finish(err)
	if (got != nil) != m.full {
		t.Fatalf("finish = %v though full is %t", got, m.full)
	}
	m.ended = true
	if content, err := m.spool.Bytes(); !m.full && (err != nil || !bytes.Equal(content, m.want)) {
		t.Fatalf("bytes differ: %d, want %d, %v", len(content), len(m.want), err)
	}
}

func (m *model) drain(t *testing.T, i int) {
	rest, err := io.ReadAll(m.readers[i])
	if !bytes.Equal(rest, m.want[m.read[i]:]) {
		t.Fatalf("reader %d: the rest differs", i)
	}
	if (err != nil) != m.full {
		t.Fatalf("reader %d ends with %v though full is %t", i, err, m.full)
	}
}
