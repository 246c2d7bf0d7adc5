package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/internal/cache"
	"github.com/spillway-media/spillway/internal/cli"
)

// keep opens a cache as a server does, and puts two pictures of one original
// and one of another into it.
func keep(t *testing.T, folder string) *cache.Disk {
	t.Helper()
	d, err := cache.OpenDisk(cache.DiskConfig{Dir: folder, Limit: 16 << 20}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	for key, ref := range map[string]string{"a 300": "a.jpg", "a 600": "a.jpg", "b 300": "b.jpg"} {
		if err := d.Put(key, cache.Group(ref), nil, make([]byte, 5000)); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func command(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, faults bytes.Buffer
	code = cli.Main(t.Context(), args, cli.System{Stdout: &out, Stderr: &faults})
	return code, out.String(), faults.String()
}

func TestCacheStatsCountsWhileAServerUsesTheFolder(t *testing.T) {
	data := t.TempDir()
	keep(t, data+"/cache/results")
	code, stdout, stderr := command(t, "cache", "stats", "--data", data, "--cache-disk", "1GiB", "--json")
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	var report struct {
		Entries int
		Kinds   []struct {
			Kind, Folder string
			Entries      int
			Bytes, Limit int64
			Oldest       time.Time
		}
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatal(err)
	}
	if report.Entries != 3 || len(report.Kinds) != 1 {
		t.Fatalf("report = %+v, want three entries of one kind", report)
	}
	k := report.Kinds[0]
	if k.Kind != "results" || k.Entries != 3 || k.Bytes < 15000 || k.Limit != 1<<30 || time.Since(k.Oldest) > time.Hour {
		t.Errorf("kind = %+v", k)
	}
}

func TestCacheStatsIsATableForPeople(t *testing.T) {
	folder := t.TempDir()
	keep(t, folder+"/sources")
	code, stdout, stderr := command(t, "cache", "stats", "--cache-dir", folder)
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	for _, want := range []string{"kind", "oldest use", "sources", "25.5 KiB", "off", time.Now().Format("2006-01")} {
		if !strings.Contains(stdout, want) {
			t.Errorf("table does not say %q:\n%s", want, stdout)
		}
	}
}

func TestCachePurgeReachesTheServer(t *testing.T) {
	tests := []struct {
		name  string
		args  []string
		told  string
		group string
		left  int
	}{
		{"a purge of everything leaves nothing", []string{"--all"}, "removed 3 entries, 25.5 KiB", "", 0},
		{"a purge of one original leaves the others", []string{"--source", "a.jpg"}, "removed 2 entries", cache.Group("a.jpg"), 1},
		{"a purge of what is not kept reaches the memory", []string{"--source", "z.jpg"}, "removed 0 entries, 0 bytes", cache.Group("z.jpg"), 3},
		{"a purge can tell JSON", []string{"--source", "b.jpg", "--json"}, `"entries": 1`, cache.Group("b.jpg"), 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			folder := t.TempDir()
			server := keep(t, folder+"/results")
			code, stdout, stderr := command(t, append([]string{"cache", "purge", "--cache-dir", folder}, test.args...)...)
			if code != 0 || stderr != "" || !strings.Contains(stdout, test.told) {
				t.Fatalf("exit code %d, told %q, faults %q", code, stdout, stderr)
			}
			heard := ""
			synctest.Test(t, func(t *testing.T) {
				told := make(chan string, 1)
				ended := make(chan error, 1)
				ctx, stop := context.WithCancel(t.Context())
				go func() { ended <- server.Run(ctx, func(group string) { told <- group }) }()
				heard = <-told
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
			if heard != test.group || server.Stats().Entries != test.left {
				t.Errorf("server heard of %q and has %d entries, want %q and %d", heard, server.Stats().Entries, test.group, test.left)
			}
		})
	}
}

func TestCacheCommandsRefuseAFolderThatIsNotThere(t *testing.T) {
	for _, args := range [][]string{{"stats"}, {"purge", "--all"}} {
		t.Run(args[0]+" names the folder", func(t *testing.T) {
			code, _, stderr := command(t, append([]string{"cache"}, append(args, "--data", "/none")...)...)
			if code != 1 || !strings.Contains(stderr, `"/none/cache"`) || !strings.Contains(stderr, "--cache-dir") {
				t.Errorf("exit code %d, %s", code, stderr)
			}
		})
	}
}

func TestCachePurgeHasToBeToldWhat(t *testing.T) {
	for _, args := range [][]string{{}, {"--all", "--source", "a"}, {"--source", ""}} {
		t.Run("refuses "+strings.Join(args, " "), func(t *testing.T) {
			code, _, stderr := command(t, append([]string{"cache", "purge", "--data", t.TempDir()}, args...)...)
			if code != 2 || !strings.Contains(stderr, "--source") {
				t.Errorf("exit code %d, %s", code, stderr)
			}
		})
	}
}

func TestCachePurgeDoesNotAskForBothOfItsFlags(t *testing.T) {
	_, stdout, _ := command(t, "cache", "purge", "--help")
	if !strings.HasPrefix(stdout, "Usage: spillway cache purge [flags]\n") {
		t.Errorf("the help begins %.80q", stdout)
	}
}
