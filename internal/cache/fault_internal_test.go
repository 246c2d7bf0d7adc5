package cache

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// faulty is a file on a disk that takes so many bytes and no more.
type faulty struct {
	file partFile
	left int
	full error
	end  error // what Close answers
}

func (f *faulty) Write(p []byte) (int, error) {
	if len(p) > f.left {
		n, _ := f.file.Write(p[:f.left])
		f.left = 0
		return n, f.full
	}
	f.left -= len(p)
	return f.file.Write(p)
}

func (f *faulty) Close() error { return errors.Join(f.file.Close(), f.end) }

func openAt(t *testing.T, dir string, limit int64, now func() time.Time) *Disk {
	t.Helper()
	d, err := openDisk(DiskConfig{Dir: dir, Limit: limit}, slog.New(slog.DiscardHandler), now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestAFailedPutLeavesNothingBehind(t *testing.T) {
	const roomy = 1 << 20
	noFile := func(string) (partFile, error) { return nil, syscall.EMFILE }
	disk := func(left int, full, end error) func(string) (partFile, error) {
		return func(path string) (partFile, error) {
			file, err := createPart(path)
			return &faulty{file, left, full, end}, err
		}
	}
	tests := []struct {
		name   string
		create func(string) (partFile, error)
		want   error
		leave  uint64 // entries that give way
	}{
		{"a disk that is full at once", disk(0, syscall.ENOSPC, nil), syscall.ENOSPC, 1},
		{"a disk that is full after half of the head", disk(60, syscall.ENOSPC, nil), syscall.ENOSPC, 1},
		{"a disk that is full after half of a part", disk(5000, syscall.ENOSPC, nil), syscall.ENOSPC, 1},
		{"a disk that fails", disk(5000, syscall.EIO, nil), syscall.EIO, 0},
		{"a disk that tells its fault at the end", disk(roomy, nil, syscall.EDQUOT), syscall.EDQUOT, 1},
		{"a process without files left", noFile, syscall.EMFILE, 0},
		{"a rename that fails", func(path string) (partFile, error) {
			file, err := createPart(path)
			return file, errors.Join(err, os.Remove(path))
		}, fs.ErrNotExist, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			d := openAt(t, dir, 8<<20, time.Now)
			for _, key := range []string{"oldest", "key"} {
				if err := d.Put(key, "", []byte("old"), make([]byte, 9000)); err != nil {
					t.Fatal(err)
				}
			}
			want := d.Stats()
			want.Bytes -= want.Bytes / 2 * int64(test.leave)
			want.Entries -= int(test.leave)
			want.Evicted = test.leave
			d.create = test.create
			if err := d.Put("key", "", []byte("new"), make([]byte, 9000)); !errors.Is(err, test.want) {
				t.Errorf("put = %v, want %v", err, test.want)
			}
			if got := d.Stats(); got != want {
				t.Errorf("stats = %+v, want %+v", got, want)
			}
			if left, err := os.ReadDir(filepath.Join(dir, tempFolder)); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
			e, ok := d.Get("key")
			if !ok || string(e.Meta) != "old" {
				t.Error("the entry that was there is gone")
			}
			e.Close()
			d.create = createPart
			if err := d.Put("key", "", nil); err != nil {
				t.Errorf("a later put = %v", err)
			}
		})
	}
}

func TestOnADiskSmallerThanTheLimitOthersLeave(t *testing.T) {
	d := openAt(t, t.TempDir(), 8<<20, time.Now)
	d.create = func(path string) (partFile, error) {
		file, err := createPart(path)
		others := int(d.index.stats().Bytes - costOf(9108))
		return &faulty{file, max(100_000-others, 0), syscall.ENOSPC, nil}, err
	}
	for i := range 40 {
		if err := d.Put(strings.Repeat("k", i+1), "", nil, make([]byte, 9000)); err != nil {
			t.Fatalf("put %d: %v", i, err)
		}
	}
	if s := d.Stats(); s.Entries < 5 || s.Bytes > 110_000 || s.Entries == 40 || s.Entries+int(s.Evicted) != 40 {
		t.Errorf("stats = %+v", s)
	}
}

// TestRoomIsMadeBeforeTheFirstByte looks at the disk whenever something is
// about to be written.
func TestRoomIsMadeBeforeTheFirstByte(t *testing.T) {
	dir := t.TempDir()
	d := openAt(t, dir, MinLimit, time.Now)
	const size = 300 << 10
	looks := 0
	d.create = func(path string) (partFile, error) {
		looks++
		if got := lying(t, dir) + costOf(size); got > MinLimit {
			t.Errorf("%d bytes would lie on the disk", got)
		}
		return createPart(path)
	}
	for i := range 50 {
		if err := d.Put(strings.Repeat("k", i+1), "", nil, make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
	if looks != 50 || d.Stats().Evicted < 30 {
		t.Errorf("looked %d times while %d left", looks, d.Stats().Evicted)
	}
}

// lying is what du would say.
func lying(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		facts, err := d.Info()
		if err == nil {
			bytes += facts.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

func TestTheTimeOfUseIsWrittenOnceAMinute(t *testing.T) {
	now := time.Now().Add(time.Hour)
	d := openAt(t, t.TempDir(), 8<<20, func() time.Time { return now })
	if err := d.Put("key", "", nil, []byte("part")); err != nil {
		t.Fatal(err)
	}
	h, err := newHeader("key", "", now, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	path := d.path(nameOf(h.key, h.group))
	written := func() time.Time {
		facts, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return facts.ModTime()
	}
	steps := []struct {
		later time.Duration
		want  bool // whether the time is written
	}{{30 * time.Second, false}, {31 * time.Second, true}, {59 * time.Second, false}, {2 * time.Second, true}, {-2 * time.Hour, true}}
	for _, step := range steps {
		before := written()
		now = now.Add(step.later)
		e, ok := d.Get("key")
		if !ok {
			t.Fatal("not kept")
		}
		e.Close()
		if got := !written().Equal(before); got != step.want {
			t.Errorf("%s later the time is written: %v, want %v", step.later, got, step.want)
		}
		if step.want && !written().Equal(now) {
			t.Errorf("the time of use is %s, want %s", written(), now)
		}
	}
}

func TestOrderOfUseSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	clock := func() time.Time { return now }
	d := openAt(t, dir, 16<<20, clock)
	keys := strings.Split("abcdefghijklmnopqrst", "")
	for _, key := range keys {
		if err := d.Put(key, "", nil, bytes.Repeat([]byte(key), 300<<10)); err != nil {
			t.Fatal(err)
		}
	}
	for i := len(keys) - 1; i >= 0; i-- { // a is used last
		now = now.Add(2 * time.Minute)
		e, _ := d.Get(keys[i])
		e.Close()
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = openAt(t, dir, MinLimit, clock)
	kept := d.Stats().Entries
	if kept < 5 || kept == len(keys) {
		t.Fatalf("%d entries are kept", kept)
	}
	for i, key := range keys {
		e, ok := d.Get(key)
		if ok != (i < kept) {
			t.Errorf("%s is kept: %v, of %d", key, ok, kept)
		}
		if ok {
			e.Close()
		}
	}
}

func TestOfTwoGroupsOfAKeyTheLaterStays(t *testing.T) {
	dir := t.TempDir()
	d := openAt(t, dir, 8<<20, time.Now)
	if err := d.Put("key", "before", []byte("before")); err != nil {
		t.Fatal(err)
	}
	h, err := newHeader("key", "before", time.Now(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	former := d.path(nameOf(h.key, h.group))
	saved, err := os.ReadFile(former)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Put("key", "after", []byte("after")); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	// As a crash leaves it between the rename and the removal.
	if err := os.WriteFile(former, saved, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(former, time.Time{}, time.Now().Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
	d = openAt(t, dir, 8<<20, time.Now)
	e, ok := d.Get("key")
	if !ok || string(e.Meta) != "after" {
		t.Error("the later entry is gone")
	}
	e.Close()
	if _, err := os.Stat(former); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the former file is still there: %v", err)
	}
}

func TestJournalOfPurges(t *testing.T) {
	tests := []struct {
		name, text string
		want       string
	}{
		{"nothing was purged", "", ""},
		{"each group is told once", "\"a\"\n\"b\"\n\"a\"\n", "a b"},
		{"a purge of everything stands for all", "\"a\"\n\"\"\n\"b\"\n", "all"},
		{"a line that was cut off may have been anything", "\"a\"\n\"b", "all"},
		{"so may a line of something else", "a\n", "all"},
		{"a group may have any letters", "\"a\\nb\"\n", "a\nb"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			groups := parseJournal(test.text)
			got := strings.Join(groups, " ")
			if len(groups) == 1 && groups[0] == "" {
				got = "all"
			}
			if got != test.want {
				t.Errorf("groups = %q, want %q", got, test.want)
			}
		})
	}
}

func TestTheJournalIsEmptyOnceItWasRead(t *testing.T) {
	dir := t.TempDir()
	d := openAt(t, dir, 8<<20, time.Now)
	for _, group := range []string{"a", "b"} {
		if _, err := PurgeFolder(dir, group); err != nil {
			t.Fatal(err)
		}
	}
	var heard []string
	for range 2 {
		if err := d.heed(func(group string) { heard = append(heard, group) }); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Join(heard, " ") != "a b" {
		t.Errorf("heard of %q, want each purge once", heard)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := PurgeFolder(dir, "c"); err != nil {
		t.Fatal(err)
	}
	d = openAt(t, dir, 8<<20, time.Now)
	if err := d.heed(func(group string) { t.Errorf("heard of %q, which was purged before the start", group) }); err != nil {
		t.Fatal(err)
	}
}

// TestARemovalThatComesLateSparesTheSuccessor plays an eviction that is
// overtaken by a Put of the same name.
func TestARemovalThatComesLateSparesTheSuccessor(t *testing.T) {
	d := openAt(t, t.TempDir(), 8<<20, time.Now)
	put := func(meta string) {
		if err := d.Put("key", "group", []byte(meta)); err != nil {
			t.Fatal(err)
		}
	}
	put("old")
	h, err := newHeader("key", "group", time.Now(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	leaving := d.index.dropKey(keyID(h.key[:16]))
	put("new")
	if err := d.remove(leaving); err != nil {
		t.Fatal(err)
	}
	e, ok := d.Get("key")
	if !ok || string(e.Meta) != "new" {
		t.Error("the successor was removed in place of its predecessor")
	}
	if s := d.Stats(); s.Entries != 1 || s.Bytes != costOf(h.size()+3) {
		t.Errorf("stats = %+v, want one entry of %d bytes", s, costOf(h.size()+3))
	}
	e.Close()
}
