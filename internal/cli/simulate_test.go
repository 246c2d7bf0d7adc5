package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const hybrid = "../../deploy/scheduler.hybrid.json"

func TestSimulateComparesPoliciesAndWritesAPage(t *testing.T) {
	page, jobs := filepath.Join(t.TempDir(), "report.html"), filepath.Join(t.TempDir(), "jobs.csv")
	code, stdout, stderr := command(t, "simulate", "--config", hybrid, "--policy", "seed", "--policy", "steps", "--policy", "backlog",
		"--synthetic", "--days", "1", "--arrivals", "2", "--html", page, "--write-trace", jobs)
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	for _, want := range []string{" seed ", " steps ", " backlog ", "machine hours", "earned", "warning: scheduler.hybrid.json"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not in\n%s", want, stdout)
		}
	}
	html, err := os.ReadFile(page)
	if err != nil || strings.Count(string(html), "<svg") != 12 {
		t.Errorf("%d plots, %v", strings.Count(string(html), "<svg"), err)
	}

	// What was written replays the same.
	made, read := results(t, "--synthetic", "--days", "1", "--arrivals", "2"), results(t, "--trace", jobs)
	if made[0].Total.Jobs == 0 || made[0].Total != read[0].Total {
		t.Errorf("made up %+v, read back %+v", made[0].Total, read[0].Total)
	}
}

type result struct {
	Name  string
	Total struct{ Jobs, Done, Unfinished, Spent int64 }
}

func results(t *testing.T, args ...string) []result {
	t.Helper()
	code, stdout, stderr := command(t, append([]string{"simulate", "--config", hybrid, "--json"}, args...)...)
	if code != 0 {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	var report struct{ Results []result }
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || len(report.Results) != 1 {
		t.Fatalf("%v: %s", err, stdout)
	}
	return report.Results
}

func TestSimulateSaysWhatIsWrongOnItsCommandLine(t *testing.T) {
	for want, args := range map[string][]string{
		"name one source of jobs":              {},
		"name one source of jobs: --trace FIL": {"--synthetic", "--trace", "x.csv"},
		"--shortage: 2 is not within 0 to 1":   {"--synthetic", "--shortage", "2"},
		`"0" is not a share above 0`:           {"--synthetic", "--queue", "ocr=0"},
		"there are no jobs in":                 {"--from-db", "sqlite:///" + t.TempDir() + "/none.db"},
	} {
		code, _, stderr := command(t, append([]string{"simulate", "--config", hybrid}, args...)...)
		if code != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit code %d, %s; want %q", args, code, stderr, want)
		}
	}
}

func TestAReplaySaysWhenTheVPSCannotWorkOnAQueueAtAll(t *testing.T) {
	const sample = "../../deploy/scheduler.sample.json"
	const note = "so that bulk, media, ocr wait for machines; it has one for them by --vps-slots 3"
	run := func(slots string) (stdout string) {
		code, stdout, stderr := command(t, "simulate", "--config", sample, "--synthetic", "--days", "1", "--vps-slots", slots)
		if code != 0 {
			t.Fatalf("exit code %d, %s", code, stderr)
		}
		return stdout
	}
	if out := run("2"); !strings.Contains(out, note) {
		t.Errorf("with two slots, both kept:\n%s", out)
	}
	out := run("3")
	if strings.Contains(out, "--vps-slots") {
		t.Errorf("with a third slot:\n%s", out)
	}
}
