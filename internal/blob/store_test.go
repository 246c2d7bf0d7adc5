package blob_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/blob"
	"github.com/spillway-media/spillway/internal/testservices"
)

// open gives one more view of the same store, as another process has it.
type open func(t *testing.T) blob.Store

// stores are all implementations; each passes the same suite.
func stores() map[string]func(t *testing.T) open {
	return map[string]func(t *testing.T) open{
		"folder": func(t *testing.T) open {
			dir := filepath.Join(t.TempDir(), "blobs")
			return func(t *testing.T) blob.Store { return openAt(t, blob.Config{Location: dir}) }
		},
		"bucket":             func(t *testing.T) open { return bucketOn(t, testservices.S3(t), "") },
		"prefix in a bucket": func(t *testing.T) open { return bucketOn(t, testservices.S3(t), "/some/where") },
	}
}

func openAt(t *testing.T, cfg blob.Config) blob.Store {
	t.Helper()
	store, err := blob.Open(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func put(t *testing.T, s blob.Store, key, content string, o blob.PutOptions) error {
	t.Helper()
	_, err := s.Put(t.Context(), key, strings.NewReader(content), int64(len(content)), o)
	return err
}

func mustPut(t *testing.T, s blob.Store, key, content string) {
	t.Helper()
	if err := put(t, s, key, content, blob.PutOptions{}); err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
}

func get(t *testing.T, s blob.Store, key string) string {
	t.Helper()
	body, info, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatalf("get %s: %v", key, err)
	}
	defer body.Close()
	content, err := io.ReadAll(body)
	if err != nil {
		t.Fatalf("read %s: %v", key, err)
	}
	if info.Size != int64(len(content)) {
		t.Errorf("%s is said to have %d bytes and has %d", key, info.Size, len(content))
	}
	return string(content)
}

func TestStores(t *testing.T) {
	cases := map[string]func(t *testing.T, open open){
		"what was put is there for everybody":                         storesAndReads,
		"what is not there is not found":                              tellsWhatIsMissing,
		"of many who put a key at once one wins":                      letsOneWin,
		"a body of another length than said leaves nothing":           refusesWrongLengths,
		"a body that breaks leaves nothing":                           refusesBrokenBodies,
		"a put without condition replaces":                            replaces,
		"keys that could lead elsewhere are refused":                  refusesKeys,
		"deleting is final and may be repeated":                       deletes,
		"lists come in the order of keys, page by page":               lists,
		"readers may step about":                                      seeks,
		"a reader stops when its context ends":                        stopsReading,
		"a body is taken from where it stands":                        beginsWhereItStands,
		"large objects are whole, and refused in whole when they are": storesLarge,
	}
	for name, begin := range stores() {
		t.Run(name, func(t *testing.T) {
			view := begin(t)
			for name, run := range cases {
				t.Run(name, func(t *testing.T) { run(t, view) })
			}
		})
	}
}

func storesAndReads(t *testing.T, open open) {
	store, other := open(t), open(t)
	info, err := store.Put(t.Context(), "jobs/1/a-300x200.webp", strings.NewReader("picture"), 7, blob.PutOptions{IfNoneMatch: true})
	if err != nil {
		t.Fatal(err)
	}
	if age := time.Since(info.ModTime); age < -time.Minute || age > time.Minute {
		t.Errorf("it is %s old", age)
	}
	info.ModTime = time.Time{}
	want := blob.Info{Key: "jobs/1/a-300x200.webp", Size: 7, ContentType: "image/webp"}
	if diff := cmp.Diff(want, info); diff != "" {
		t.Error(diff)
	}
	if got := get(t, other, want.Key); got != "picture" {
		t.Errorf("it is %q", got)
	}
	seen, err := other.Stat(t.Context(), want.Key)
	if seen.ModTime = (time.Time{}); err != nil || seen != want {
		t.Errorf("it is seen as %+v, %v", seen, err)
	}
	mustPut(t, store, "empty.txt", "")
	if got := get(t, other, "empty.txt"); got != "" {
		t.Errorf("an empty object has %q", got)
	}
}

func tellsWhatIsMissing(t *testing.T, open open) {
	store := open(t)
	mustPut(t, store, "there/is", "something")
	for _, key := range []string{"nothing", "there", "there/is/not", "there/isnt"} {
		if _, err := store.Stat(t.Context(), key); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("stat %s: %v", key, err)
		}
		if _, _, err := store.Get(t.Context(), key); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("get %s: %v", key, err)
		}
	}
}

func letsOneWin(t *testing.T, open open) {
	const writers = 8
	var won, lost atomic.Int32
	var winner atomic.Value
	var all sync.WaitGroup
	for i := range writers {
		store := open(t)
		all.Go(func() {
			content := strings.Repeat(fmt.Sprint(i), 1000)
			switch err := put(t, store, "race/key.bin", content, blob.PutOptions{IfNoneMatch: true}); {
			case err == nil:
				won.Add(1)
				winner.Store(content)
			case errors.Is(err, blob.ErrExists):
				lost.Add(1)
			default:
				t.Errorf("put: %v", err)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 || lost.Load() != writers-1 {
		t.Fatalf("%d won and %d were told that it exists", won.Load(), lost.Load())
	}
	if got := get(t, open(t), "race/key.bin"); got != winner.Load() {
		t.Errorf("it holds %.10q…, not what the winner wrote", got)
	}
}

func refusesWrongLengths(t *testing.T, open open) {
	store := open(t)
	for _, said := range []int64{3, 5} {
		if _, err := store.Put(t.Context(), "length", strings.NewReader("four"), said, blob.PutOptions{}); err == nil {
			t.Errorf("4 bytes were taken for %d", said)
		}
	}
	if _, err := store.Stat(t.Context(), "length"); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("something is there: %v", err)
	}
}

// breaks is a body whose reading fails half way.
type breaks struct{ *strings.Reader }

func (b breaks) Read(p []byte) (int, error) {
	if b.Len() <= 5 {
		return 0, errors.New("the disk is gone")
	}
	return b.Reader.Read(p[:min(len(p), 5)])
}

// WriteTo hides that of the reader, which would not break.
func (b breaks) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, struct{ io.Reader }{b}) }

func refusesBrokenBodies(t *testing.T, open open) {
	store := open(t)
	if _, err := store.Put(t.Context(), "broken", breaks{strings.NewReader("ten bytes.")}, 10, blob.PutOptions{}); err == nil {
		t.Error("a body that broke was taken")
	}
	if _, err := store.Stat(t.Context(), "broken"); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("something is there: %v", err)
	}
}

func replaces(t *testing.T, open open) {
	store := open(t)
	mustPut(t, store, "twice", "first")
	mustPut(t, store, "twice", "second")
	if err := put(t, store, "twice", "third", blob.PutOptions{IfNoneMatch: true}); !errors.Is(err, blob.ErrExists) {
		t.Errorf("a third was not refused: %v", err)
	}
	if got := get(t, store, "twice"); got != "second" {
		t.Errorf("it is %q", got)
	}
}

func refusesKeys(t *testing.T, open open) {
	store := open(t)
	for _, key := range []string{
		"", "/", "/etc/passwd", "..", "a/../b", "../a", "a//b", "a/", ".part/x", "a/.hidden", "a\\b", "a\x00b", "a b", "ä", "a/%2e%2e/b",
		strings.Repeat("a", 201), strings.Repeat("a/", 300) + "a",
	} {
		if err := put(t, store, key, "x", blob.PutOptions{}); !errors.Is(err, blob.ErrKey) {
			t.Errorf("put %.20q: %v", key, err)
		}
		if _, _, err := store.Get(t.Context(), key); !errors.Is(err, blob.ErrKey) {
			t.Errorf("get %.20q: %v", key, err)
		}
		if err := store.Delete(t.Context(), key); !errors.Is(err, blob.ErrKey) {
			t.Errorf("delete %.20q: %v", key, err)
		}
	}
	for _, prefix := range []string{"../", "/", "a//"} {
		if _, err := store.List(t.Context(), prefix, "", 1); !errors.Is(err, blob.ErrKey) {
			t.Errorf("list %q: %v", prefix, err)
		}
	}
}

func deletes(t *testing.T, open open) {
	store := open(t)
	mustPut(t, store, "gone/deep/down", "x")
	mustPut(t, store, "gone/stays", "x")
	for range 2 {
		if err := store.Delete(t.Context(), "gone/deep/down"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.Stat(t.Context(), "gone/deep/down"); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("it is still there: %v", err)
	}
	if err := store.Delete(t.Context(), "gone"); err != nil {
		t.Errorf("deleting what is no object: %v", err)
	}
	if got := get(t, store, "gone/stays"); got != "x" {
		t.Errorf("its neighbour is %q", got)
	}
	mustPut(t, store, "gone/deep/down", "again")
}

func lists(t *testing.T, open open) {
	store := open(t)
	// In the order of bytes - and . come before the slash, 0 after it.
	want := []string{"list/a-b", "list/a.b", "list/a/x", "list/a/y/z", "list/a0", "list/b", "list/c/1", "list/c/2"}
	for i := range want {
		mustPut(t, store, want[len(want)-1-i], "x")
	}
	mustPut(t, store, "list.other", "x")
	mustPut(t, store, "listless/b", "x")
	for _, prefix := range []string{"list", "list/"} {
		for limit := 1; limit <= len(want)+1; limit++ {
			var got []string
			after := ""
			for {
				page, err := store.List(t.Context(), prefix, after, limit)
				if err != nil {
					t.Fatal(err)
				}
				if len(page) > limit {
					t.Fatalf("%d objects were given, more than %d", len(page), limit)
				}
				for _, info := range page {
					got = append(got, info.Key)
					after = info.Key
				}
				if len(page) < limit {
					break
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("prefix %q in pages of %d:\n%s", prefix, limit, diff)
			}
		}
	}
	if page, err := store.List(t.Context(), "", "list.", 2); err != nil || len(page) != 2 || page[0].Key != "list.other" || page[0].Size != 1 {
		t.Errorf("from the top, after %q: %+v, %v", "list.", page, err)
	}
	if page, err := store.List(t.Context(), "nowhere", "", 10); err != nil || len(page) != 0 {
		t.Errorf("below nowhere: %+v, %v", page, err)
	}
	for _, limit := range []int{0, blob.MaxList + 1} {
		if _, err := store.List(t.Context(), "", "", limit); err == nil {
			t.Errorf("a list of %d was given", limit)
		}
	}
}

func seeks(t *testing.T, open open) {
	store := open(t)
	mustPut(t, store, "digits", "0123456789")
	body, _, err := store.Get(t.Context(), "digits")
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if end, err := body.Seek(0, io.SeekEnd); end != 10 || err != nil {
		t.Fatalf("it ends at %d, %v", end, err)
	}
	for _, step := range []struct {
		offset int64
		whence int
		want   string
	}{{0, io.SeekStart, "012"}, {2, io.SeekCurrent, "567"}, {-3, io.SeekEnd, "789"}, {1, io.SeekStart, "123"}} {
		if _, err := body.Seek(step.offset, step.whence); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 3)
		if _, err := io.ReadFull(body, got); err != nil || string(got) != step.want {
			t.Errorf("at %d from %d there is %q, %v; it should be %q", step.offset, step.whence, got, err, step.want)
		}
	}
	if _, err := body.Seek(-1, io.SeekStart); err == nil {
		t.Error("there was a place before the beginning")
	}
}

func stopsReading(t *testing.T, open open) {
	store := open(t)
	mustPut(t, store, "long", strings.Repeat("x", 1<<20))
	ctx, stop := context.WithCancel(t.Context())
	body, _, err := store.Get(ctx, "long")
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	stop()
	if n, err := io.Copy(io.Discard, body); err == nil {
		t.Errorf("all %d bytes were read", n)
	}
	if _, err := store.Put(ctx, "late", strings.NewReader("x"), 1, blob.PutOptions{}); err == nil {
		t.Error("something was put after the end")
	}
}

func beginsWhereItStands(t *testing.T, open open) {
	store := open(t)
	body := strings.NewReader("skipped, taken")
	if _, err := body.Seek(9, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Put(t.Context(), "rest", body, 5, blob.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := get(t, store, "rest"); got != "taken" {
		t.Errorf("it is %q", got)
	}
}

func storesLarge(t *testing.T, open open) {
	store := open(t)
	content := bytes.Repeat([]byte("0123456789abcdef"), 40<<20/16+1) // in three parts
	for i := range 2 {
		_, err := store.Put(t.Context(), "large.bin", bytes.NewReader(content), int64(len(content)), blob.PutOptions{IfNoneMatch: true})
		if i == 0 && err != nil || i == 1 && !errors.Is(err, blob.ErrExists) {
			t.Fatalf("put %d: %v", i+1, err)
		}
	}
	if got := get(t, store, "large.bin"); got != string(content) {
		t.Errorf("%d bytes came back, or others", len(got))
	}
}

func TestAFenceKeepsWritersOut(t *testing.T) {
	store := openAt(t, blob.Config{Location: t.TempDir()})
	mustPut(t, store, "before", "x")
	lost := errors.New("the lease is lost")
	fenced := blob.Fenced(store, func() error { return lost })
	if err := put(t, fenced, "after", "x", blob.PutOptions{}); !errors.Is(err, lost) {
		t.Errorf("put: %v", err)
	}
	if err := fenced.Delete(t.Context(), "before"); !errors.Is(err, lost) {
		t.Errorf("delete: %v", err)
	}
	if got := get(t, fenced, "before"); got != "x" {
		t.Errorf("read %q", got)
	}
	if _, err := store.Stat(t.Context(), "after"); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("it was written: %v", err)
	}
	if err := put(t, blob.Fenced(store, func() error { return nil }), "after", "x", blob.PutOptions{}); err != nil {
		t.Errorf("with the lease: %v", err)
	}
}

func TestFoldersForgetWhatDiedInTheWriting(t *testing.T) {
	dir := t.TempDir()
	openAt(t, blob.Config{Location: dir})
	for name, age := range map[string]time.Duration{"old": 25 * time.Hour, "young": 23 * time.Hour} {
		path := filepath.Join(dir, ".part", name)
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	store := openAt(t, blob.Config{Location: dir})
	left, err := os.ReadDir(filepath.Join(dir, ".part"))
	if err != nil || len(left) != 1 || left[0].Name() != "young" {
		t.Errorf("left are %v, %v", left, err)
	}
	if all, err := store.List(t.Context(), "", "", 10); err != nil || len(all) != 0 {
		t.Errorf("half a file is listed: %v, %v", all, err)
	}
}

func TestFoldersLeaveNothingBehind(t *testing.T) {
	dir := t.TempDir()
	store := openAt(t, blob.Config{Location: dir})
	mustPut(t, store, "a/b/c", "x")
	_ = put(t, store, "a/b/c", "x", blob.PutOptions{IfNoneMatch: true})
	_, _ = store.Put(t.Context(), "a/b/d", strings.NewReader("four"), 5, blob.PutOptions{})
	if err := store.Delete(t.Context(), "a/b/c"); err != nil {
		t.Fatal(err)
	}
	var names []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, strings.TrimPrefix(path, dir))
		return err
	})
	if diff := cmp.Diff([]string{"", "/.part"}, names); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestOpenRefusesWhatIsNoPlace(t *testing.T) {
	for name, location := range map[string]string{
		"nothing": "", "a bucket without a name": "s3://", "a bucket in upper case": "s3://Bucket", "dots in a prefix": "s3://bucket/../x",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := blob.Open(t.Context(), blob.Config{Location: location}, slog.New(slog.DiscardHandler)); err == nil {
				t.Errorf("%q was opened", location)
			}
		})
	}
}
