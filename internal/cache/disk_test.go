package cache_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/cache"
)

// large is mapped when it is read, small is copied.
const small, large = 3000, 200 << 10

func open(t *testing.T, config cache.DiskConfig) *cache.Disk {
	t.Helper()
	if config.Limit == 0 {
		config.Limit = 8 << 20
	}
	d, err := cache.OpenDisk(config, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, d) })
	return d
}

func shut(t *testing.T, d *cache.Disk) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// content is bytes that tell their key.
func content(key string, size int) []byte {
	return bytes.Repeat([]byte(key+" "), size/(len(key)+1)+1)[:size]
}

func put(t *testing.T, d *cache.Disk, key, group string, size int) {
	t.Helper()
	if err := d.Put(key, group, []byte("meta of "+key), content(key, size)); err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
}

// has tells whether key is kept, and fails when it is not as it was put.
func has(t *testing.T, d *cache.Disk, key string, size int) bool {
	t.Helper()
	e, ok := d.Get(key)
	if !ok {
		return false
	}
	defer e.Close()
	check(t, e, key, size)
	return true
}

func check(t *testing.T, e *cache.Entry, key string, size int) {
	t.Helper()
	if string(e.Meta) != "meta of "+key || len(e.Parts) != 1 || !bytes.Equal(e.Parts[0], content(key, size)) {
		t.Errorf("%s is not what was put", key)
	}
}

// file is where the entry of a key lies.
func file(t *testing.T, dir, key string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(key))
	name := hex.EncodeToString(sum[:16])
	found, err := filepath.Glob(filepath.Join(dir, name[:2], name+"-*.entry"))
	if err != nil || len(found) != 1 {
		t.Fatalf("files of %s: %v, %v", key, found, err)
	}
	return found[0]
}

// usage is what du would say of dir, and how many temporary files it has.
func usage(t *testing.T, dir string) (bytes int64, temporary int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		facts, err := d.Info()
		if err != nil {
			return err
		}
		bytes += facts.Sys().(*syscall.Stat_t).Blocks * 512
		if strings.HasSuffix(path, ".part") {
			temporary++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes, temporary
}

func TestDiskKeepsEntriesOfAnySizeOverARestart(t *testing.T) {
	for _, size := range []int{0, 1, 4000, 60 << 10, 64 << 10, 300 << 10} {
		t.Run(strconv.Itoa(size)+" bytes come back whole", func(t *testing.T) {
			dir := t.TempDir()
			d := open(t, cache.DiskConfig{Dir: dir})
			part := content("first", size)
			if err := d.Put("key", "group", []byte("meta"), part, []byte("second"), nil); err != nil {
				t.Fatal(err)
			}
			shut(t, d)
			d = open(t, cache.DiskConfig{Dir: dir})
			e, ok := d.Get("key")
			if !ok {
				t.Fatal("gone after a restart")
			}
			defer e.Close()
			if string(e.Meta) != "meta" || len(e.Parts) != 3 || !bytes.Equal(e.Parts[0], part) || string(e.Parts[1]) != "second" || len(e.Parts[2]) != 0 {
				t.Errorf("came back otherwise")
			}
			if age := time.Since(e.Stored); age < 0 || age > time.Minute {
				t.Errorf("stored %s ago", age)
			}
		})
	}
}

func TestDiskKeepsAHeadLargerThanItsFirstRead(t *testing.T) {
	d := open(t, cache.DiskConfig{Dir: t.TempDir()})
	meta := content("meta", 100<<10)
	if err := d.Put("key", "", meta, content("part", 100)); err != nil {
		t.Fatal(err)
	}
	e, ok := d.Get("key")
	if !ok {
		t.Fatal("not kept")
	}
	defer e.Close()
	if !bytes.Equal(e.Meta, meta) || !bytes.Equal(e.Parts[0], content("part", 100)) {
		t.Error("came back otherwise")
	}
}

func TestDiskRefusesWhatIsTooLarge(t *testing.T) {
	d := open(t, cache.DiskConfig{Dir: t.TempDir(), Each: 100 << 10})
	put(t, d, "key", "", small)
	tests := []struct {
		name  string
		meta  int
		parts [][]byte
	}{
		{"an entry beyond its share", 0, [][]byte{make([]byte, 100<<10)}},
		{"an entry beyond its share in pieces", 0, slices.Repeat([][]byte{make([]byte, 10<<10)}, 10)},
		{"meta beyond its share", 2 << 20, nil},
		{"too many parts", 0, make([][]byte, 2000)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := d.Put("key", "", make([]byte, test.meta), test.parts...); !errors.Is(err, cache.ErrTooLarge) {
				t.Errorf("put = %v, want ErrTooLarge", err)
			}
			if !has(t, d, "key", small) {
				t.Error("the entry that was there is gone")
			}
		})
	}
}

func TestDiskStaysBelowItsLimitAndKeepsWhatWasUsedLast(t *testing.T) {
	dir := t.TempDir()
	d := open(t, cache.DiskConfig{Dir: dir, Limit: cache.MinLimit})
	for i := range 60 {
		put(t, d, strconv.Itoa(i), "", large)
		if !has(t, d, "0", large) {
			t.Fatalf("what is used all the time is gone after %d others", i)
		}
		if bytes, _ := usage(t, dir); bytes > cache.MinLimit {
			t.Fatalf("the folder has %d bytes after %d entries", bytes, i+1)
		}
	}
	s := d.Stats()
	if !has(t, d, "59", large) || has(t, d, "1", large) {
		t.Error("not the least recently used has left")
	}
	if s.Entries < 10 || s.Entries+int(s.Evicted) != 60 || s.Bytes > s.Limit || s.Limit != cache.MinLimit {
		t.Errorf("stats = %+v", s)
	}
}

func TestDiskWithItsEntriesHeldRefusesMore(t *testing.T) {
	dir := t.TempDir()
	d := open(t, cache.DiskConfig{Dir: dir, Limit: cache.MinLimit})
	var held []*cache.Entry
	for i := 0; ; i++ {
		err := d.Put(strconv.Itoa(i), "", []byte("meta of "+strconv.Itoa(i)), content(strconv.Itoa(i), large))
		if errors.Is(err, cache.ErrFull) {
			break
		}
		e, ok := d.Get(strconv.Itoa(i))
		if err != nil || !ok {
			t.Fatalf("entry %d: %v, %v", i, err, ok)
		}
		held = append(held, e)
	}
	if bytes, _ := usage(t, dir); bytes > cache.MinLimit || len(held) < 10 {
		t.Errorf("%d held entries take %d bytes", len(held), bytes)
	}
	if got := d.Stats().Held; got != len(held) {
		t.Errorf("held = %d, want %d", got, len(held))
	}
	held[3].Close()
	put(t, d, "more", "", large)
	if has(t, d, "3", large) || !has(t, d, "0", large) {
		t.Error("not the only one that was free has left")
	}
	for i, e := range held {
		if i != 3 {
			check(t, e, strconv.Itoa(i), large)
		}
		e.Close()
		e.Close()
	}
	if got := d.Stats().Held; got != 0 {
		t.Errorf("held = %d after all were closed", got)
	}
}

func TestAnEntryOutlivesWhatHappensToItsFile(t *testing.T) {
	tests := []struct {
		name   string
		happen func(*testing.T, *cache.Disk, string)
	}{
		{"being purged", func(t *testing.T, d *cache.Disk, _ string) { _, _ = d.Purge("") }},
		{"being deleted", func(t *testing.T, d *cache.Disk, _ string) { d.Delete("key") }},
		{"being replaced", func(t *testing.T, d *cache.Disk, _ string) { _ = d.Put("key", "group", nil, []byte("other")) }},
		{"being purged by another process", func(t *testing.T, d *cache.Disk, dir string) { _, _ = cache.PurgeFolder(dir, "") }},
		{"the cache being closed", func(t *testing.T, d *cache.Disk, _ string) { shut(t, d) }},
	}
	for _, test := range tests {
		for _, size := range []int{small, large} {
			t.Run(test.name+" with "+strconv.Itoa(size)+" bytes", func(t *testing.T) {
				dir := t.TempDir()
				d := open(t, cache.DiskConfig{Dir: dir})
				put(t, d, "key", "group", size)
				e, ok := d.Get("key")
				if !ok {
					t.Fatal("not kept")
				}
				test.happen(t, d, dir)
				check(t, e, "key", size)
				e.Close()
				// What is free again is counted as free.
				d.Delete("key")
				if s := d.Stats(); test.name != "the cache being closed" && (s.Bytes != 0 || s.Entries != 0 || s.Held != 0) {
					t.Errorf("stats = %+v, want nothing left", s)
				}
			})
		}
	}
}

func TestBytesOfAHeldEntryCountAfterItsPurge(t *testing.T) {
	d := open(t, cache.DiskConfig{Dir: t.TempDir()})
	put(t, d, "key", "group", large)
	e, _ := d.Get("key")
	if _, err := d.Purge("group"); err != nil {
		t.Fatal(err)
	}
	if s := d.Stats(); s.Entries != 0 || s.Bytes < large {
		t.Errorf("stats = %+v, want its bytes, which lie on the disk until it is closed", s)
	}
	e.Close()
	if s := d.Stats(); s.Bytes != 0 {
		t.Errorf("stats = %+v after Close", s)
	}
}

func TestDiskRemovesWhatIsBroken(t *testing.T) {
	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte {
			b[(at+len(b))%len(b)] ^= 0x10
			return b
		}
	}
	tests := []struct {
		name   string
		damage func([]byte) []byte
	}{
		{"a flipped bit in the magic", flip(2)},
		{"a flipped bit in the checksum of the head", flip(9)},
		{"a flipped bit in the length of the head", flip(12)},
		{"a head of four gigabytes", flip(15)},
		{"a flipped bit in the time", flip(20)},
		{"a flipped bit in the key", flip(30)},
		{"a flipped bit in the group", flip(60)},
		{"a flipped bit in the number of parts", flip(88)},
		{"a flipped bit in the length of a part", flip(97)},
		{"a flipped bit in meta", flip(110)},
		{"a flipped bit in the part's first byte", flip(96 + 12 + len("meta of key"))},
		{"a flipped bit in the last byte", flip(-1)},
		{"a file that lacks its last byte", func(b []byte) []byte { return b[:len(b)-1] }},
		{"a file that lacks its second half", func(b []byte) []byte { return b[:len(b)/2] }},
		{"a file of a head's first half", func(b []byte) []byte { return b[:50] }},
		{"a file with a byte too many", func(b []byte) []byte { return append(b, 0) }},
		{"an empty file", func([]byte) []byte { return nil }},
		{"a file of zeros", func(b []byte) []byte { return make([]byte, len(b)) }},
	}
	for _, test := range tests {
		for _, size := range []int{small, large} {
			t.Run(test.name+" with "+strconv.Itoa(size)+" bytes", func(t *testing.T) {
				dir := t.TempDir()
				d := open(t, cache.DiskConfig{Dir: dir})
				put(t, d, "key", "group", size)
				put(t, d, "other", "group", size)
				path := file(t, dir, "key")
				whole, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, test.damage(whole), 0o600); err != nil {
					t.Fatal(err)
				}
				if e, ok := d.Get("key"); ok {
					t.Errorf("answered %d bytes", len(e.Parts[0]))
				}
				if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("the file is still there: %v", err)
				}
				s := d.Stats()
				if s.Broken != 1 || s.Misses != 1 || s.Entries != 1 || s.Held != 0 {
					t.Errorf("stats = %+v", s)
				}
				if !has(t, d, "other", size) {
					t.Error("another entry is gone, too")
				}
				put(t, d, "key", "group", size)
				if !has(t, d, "key", size) {
					t.Error("it cannot be put again")
				}
			})
		}
	}
}

func TestDiskNeverAnswersAnotherKeysBytes(t *testing.T) {
	dir := t.TempDir()
	d := open(t, cache.DiskConfig{Dir: dir})
	put(t, d, "key", "group", small)
	put(t, d, "other", "group", small)
	if err := os.Rename(file(t, dir, "other"), file(t, dir, "key")); err != nil {
		t.Fatal(err)
	}
	if _, ok := d.Get("key"); ok {
		t.Error("answered what belongs to another key")
	}
	if _, ok := d.Get("other"); ok {
		t.Error("answered a file that is gone")
	}
	// A file that somebody removed is not broken.
	if s := d.Stats(); s.Broken != 1 || s.Entries != 0 || s.Bytes != 0 {
		t.Errorf("stats = %+v", s)
	}
}

func TestDiskLeavesFilesOfOthersAlone(t *testing.T) {
	dir := t.TempDir()
	name := strings.Repeat("ab", 16) + "-" + strings.Repeat("cd", 8)
	strangers := []string{
		"notes.txt", "tmp/notes.txt", "tmp/" + name + ".part", "ab/notes.entry", "cd/" + name + ".entry",
		"ab/" + strings.ToUpper(name) + ".entry", "ab/" + name + ".entry.bak", "abc/" + name + ".entry",
	}
	for _, path := range strangers {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, 2<<20), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// What has an entry's name and is none.
	if err := os.Symlink(filepath.Join(dir, "notes.txt"), filepath.Join(dir, "ab", name+".entry")); err != nil {
		t.Fatal(err)
	}
	strangers = append(strangers, "ab/"+name+".entry")
	leftover := filepath.Join(dir, "tmp", name+".17.part")
	if err := os.WriteFile(leftover, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}

	d := open(t, cache.DiskConfig{Dir: dir, Limit: cache.MinLimit})
	for i := range 40 {
		put(t, d, strconv.Itoa(i), "", large)
	}
	if _, err := d.Purge(""); err != nil {
		t.Fatal(err)
	}
	if purged, err := cache.PurgeFolder(dir, ""); err != nil || purged.Entries != 0 {
		t.Errorf("purge of the folder = %+v, %v", purged, err)
	}
	for _, path := range strangers {
		if _, err := os.Lstat(filepath.Join(dir, path)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := os.Lstat(leftover); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what a crash left is still there: %v", err)
	}
}

func TestOpenDiskTrimsWhatIsOverTheLimit(t *testing.T) {
	dir := t.TempDir()
	d := open(t, cache.DiskConfig{Dir: dir, Limit: 16 << 20})
	begin := time.Now().Add(-time.Hour)
	for i := range 40 {
		key := strconv.Itoa(i)
		put(t, d, key, "", large)
		if err := os.Chtimes(file(t, dir, key), time.Time{}, begin.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	shut(t, d)
	d = open(t, cache.DiskConfig{Dir: dir, Limit: cache.MinLimit})
	if bytes, _ := usage(t, dir); bytes > cache.MinLimit {
		t.Errorf("the folder has %d bytes", bytes)
	}
	kept := d.Stats().Entries
	if kept < 10 || kept >= 40 {
		t.Fatalf("%d entries are kept", kept)
	}
	for i := range 40 {
		if got, want := has(t, d, strconv.Itoa(i), large), i >= 40-kept; got != want {
			t.Errorf("entry %d is kept: %v, want %v", i, got, want)
		}
	}
}

func TestOpenDiskRefusesAFolderInUse(t *testing.T) {
	dir := t.TempDir()
	d := open(t, cache.DiskConfig{Dir: dir})
	_, err := cache.OpenDisk(cache.DiskConfig{Dir: dir, Limit: 8 << 20}, slog.New(slog.DiscardHandler))
	if !errors.Is(err, cache.ErrInUse) || !strings.Contains(err.Error(), "process "+strconv.Itoa(os.Getpid())) || !strings.Contains(err.Error(), dir) {
		t.Errorf("second open = %v, want ErrInUse, the folder and the process", err)
	}
	put(t, d, "key", "", small)
	shut(t, d)
	if d = open(t, cache.DiskConfig{Dir: dir}); !has(t, d, "key", small) {
		t.Error("the entry is gone")
	}
}

func TestOpenDiskRefusesALimitBelowItsFolders(t *testing.T) {
	if _, err := cache.OpenDisk(cache.DiskConfig{Dir: t.TempDir(), Limit: 1 << 20}, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("opened")
	}
}

func TestAClosedDiskFindsAndKeepsNothing(t *testing.T) {
	d := open(t, cache.DiskConfig{Dir: t.TempDir()})
	put(t, d, "key", "", small)
	shut(t, d)
	if _, ok := d.Get("key"); ok {
		t.Error("found an entry")
	}
	if err := d.Put("key", "", nil); !errors.Is(err, cache.ErrClosed) {
		t.Errorf("put = %v, want ErrClosed", err)
	}
	if _, err := d.Purge(""); !errors.Is(err, cache.ErrClosed) {
		t.Errorf("purge = %v, want ErrClosed", err)
	}
	d.Delete("key")
}

func TestNobodyElseMayReadTheFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "cache")
	d := open(t, cache.DiskConfig{Dir: dir})
	put(t, d, "key", "", small)
	if _, err := cache.PurgeFolder(dir, "nothing"); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		facts, err := d.Info()
		if err == nil && facts.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %s", path, facts.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestNoAddressLiesOnDisk(t *testing.T) {
	dir := t.TempDir()
	d := open(t, cache.DiskConfig{Dir: dir})
	const ref = "https://example.com/a.jpg?token=secret"
	if err := d.Put(ref, cache.Group(ref), nil, []byte("pixels")); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(file(t, dir, ref))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(whole, []byte("secret")) || strings.Contains(cache.Group(ref), "secret") {
		t.Error("the address can be read in the file")
	}
}

func TestPurgeRemovesOneGroupOnly(t *testing.T) {
	tests := []struct {
		name  string
		purge func(d *cache.Disk, dir, group string) (cache.Purged, error)
	}{
		{"by the process that has the folder", func(d *cache.Disk, _, group string) (cache.Purged, error) { return d.Purge(group) }},
		{"by another", func(_ *cache.Disk, dir, group string) (cache.Purged, error) { return cache.PurgeFolder(dir, group) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			d := open(t, cache.DiskConfig{Dir: dir})
			for _, key := range []string{"x1", "x2", "y1"} {
				put(t, d, key, key[:1], small)
			}
			purged, err := test.purge(d, dir, "x")
			if err != nil || purged.Entries != 2 || purged.Bytes < 2*small {
				t.Errorf("purged %+v, %v", purged, err)
			}
			if has(t, d, "x1", small) || has(t, d, "x2", small) || !has(t, d, "y1", small) {
				t.Error("not the right ones are left")
			}
			folder, err := cache.Survey(dir)
			if diff := cmp.Diff(cache.Folder{Entries: 1, Bytes: d.Stats().Bytes, Oldest: folder.Oldest}, folder); diff != "" || err != nil {
				t.Errorf("folder differs, %v (-want +got):\n%s", err, diff)
			}
			if purged, err := test.purge(d, dir, ""); err != nil || purged.Entries != 1 {
				t.Errorf("then purged %+v, %v, want the one that was left", purged, err)
			}
		})
	}
}

func TestAKeyThatChangesItsGroupHasOneEntry(t *testing.T) {
	dir := t.TempDir()
	d := open(t, cache.DiskConfig{Dir: dir})
	put(t, d, "key", "before", small)
	put(t, d, "key", "after", large)
	if folder, err := cache.Survey(dir); err != nil || folder.Entries != 1 || folder.Bytes != d.Stats().Bytes {
		t.Errorf("folder = %+v, %v", folder, err)
	}
	if purged, _ := d.Purge("before"); purged.Entries != 0 || !has(t, d, "key", large) {
		t.Error("a purge of its former group removes it")
	}
}

func TestDiskGoesOnAfterItsFolderWasRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	d := open(t, cache.DiskConfig{Dir: dir})
	put(t, d, "key", "", small)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if has(t, d, "key", small) || d.Stats().Entries != 0 || d.Stats().Broken != 0 {
		t.Errorf("stats = %+v after the folder was removed", d.Stats())
	}
	put(t, d, "key", "", small)
	if !has(t, d, "key", small) {
		t.Error("nothing is kept any more")
	}
}

func TestAFolderThatIsNotThereIsToldApart(t *testing.T) {
	if _, err := cache.Survey("/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("survey = %v", err)
	}
	if _, err := cache.PurgeFolder("/none", ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("purge = %v", err)
	}
}
