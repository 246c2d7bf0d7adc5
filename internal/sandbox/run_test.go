package sandbox_test

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/sandbox"
)

func TestRunGivesWhatTheToolWrote(t *testing.T) {
	output, err := sandbox.Run(t.Context(), sandbox.Limits{}, "sh", "-c", "echo out; echo err >&2")
	if err != nil || string(output.Stdout) != "out\n" || string(output.Stderr) != "err\n" {
		t.Errorf("output = %q, %q, %v", output.Stdout, output.Stderr, err)
	}
}

func TestRunNeverLetsAShellReadArguments(t *testing.T) {
	hostile := `a b; $(echo evil) "'` + "`x`"
	output, err := sandbox.Run(t.Context(), sandbox.Limits{}, "printf", "%s|", hostile, "-n", "")
	if want := hostile + "|-n||"; err != nil || string(output.Stdout) != want {
		t.Errorf("output = %q, %v; want %q", output.Stdout, err, want)
	}
}

func TestRunSetsLimitsBeforeTheToolStarts(t *testing.T) {
	limits := sandbox.Limits{CPU: 3 * time.Second, File: 1 << 20, Handles: 64, Memory: 3 << 30}
	output, err := sandbox.Run(t.Context(), limits, "sh", "-c", "ulimit -t; ulimit -f; ulimit -n; ulimit -c; ulimit -v")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Fields(string(output.Stdout)), "3 2048 64 0 3145728"; strings.Join(got, " ") != want {
		t.Errorf("limits in the tool = %v, want %s", got, want)
	}
}

func TestRunStopsAToolThatWritesTooMuch(t *testing.T) {
	limits := sandbox.Limits{File: 4096}
	if _, err := sandbox.Run(t.Context(), limits, "sh", "-c", "head -c 100000 /dev/zero > big"); err == nil {
		t.Error("a file above the limit was written without an error")
	}
}

func TestRunHidesTheEnvironmentAndUsesAPrivateFolder(t *testing.T) {
	t.Setenv("SPILLWAY_S3_SECRET_KEY", "hidden")
	output, err := sandbox.Run(t.Context(), sandbox.Limits{}, "sh", "-c", `pwd; env; touch left-behind`)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(output.Stdout), "hidden") {
		t.Error("the tool saw the program's environment")
	}
	folder := strings.Fields(string(output.Stdout))[0]
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("private folder %s is still there: %v", folder, err)
	}
}

func TestRunKeepsOnlySoMuchOutput(t *testing.T) {
	output, err := sandbox.Run(t.Context(), sandbox.Limits{Output: 10}, "sh", "-c", "head -c 300000 /dev/zero")
	if err != nil || len(output.Stdout) != 10 {
		t.Errorf("kept %d bytes, %v; want 10", len(output.Stdout), err)
	}
}

func TestRunKillsTheToolAndItsChildrenWhenTimeIsUp(t *testing.T) {
	limits := sandbox.Limits{Time: 300 * time.Millisecond}
	output, err := sandbox.Run(t.Context(), limits, "sh", "-c", "sleep 60 & echo $!; wait")
	if !errors.Is(err, sandbox.ErrTimeout) {
		t.Fatalf("error = %v, want a timeout", err)
	}
	assertGone(t, output)
}

func TestRunKillsChildrenThatTheToolLeftBehind(t *testing.T) {
	output, err := sandbox.Run(t.Context(), sandbox.Limits{}, "sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!")
	if err != nil {
		t.Fatal(err)
	}
	assertGone(t, output)
}

// assertGone waits for the process whose id the output holds: after SIGKILL
// the kernel may take a moment, and a zombie waits for its new parent.
func assertGone(t *testing.T, output sandbox.Output) {
	t.Helper()
	id, err := strconv.Atoi(strings.TrimSpace(string(output.Stdout)))
	if err != nil {
		t.Fatalf("read process id: %v", err)
	}
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(id) + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		if syscall.Kill(id, 0) != nil {
			return
		}
	}
	t.Errorf("process %d outlived its tool", id)
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("client left")
	cancel(reason)
	if _, err := sandbox.Run(ctx, sandbox.Limits{}, "sleep", "60"); !errors.Is(err, reason) {
		t.Errorf("error = %v, want the reason", err)
	}
}

func TestFindSaysWhatIsMissing(t *testing.T) {
	if _, err := sandbox.Find("no-such-tool-here"); !errors.Is(err, sandbox.ErrMissing) {
		t.Errorf("error = %v, want ErrMissing", err)
	}
}
