package sandbox_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/spillway-media/spillway/internal/sandbox"
)

// TestMain makes this test program its own helper, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "helper" {
		if err := help(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// help does what the lines from its parent say and answers each with one.
func help() error {
	parent, err := sandbox.Confine()
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(parent)
	for lines.Scan() {
		answer := ""
		switch lines.Text() {
		case "environment":
			answer = strings.Join(os.Environ(), ",")
		case "files":
			answer = fmt.Sprint(os.WriteFile(os.DevNull, []byte("x"), 0), writeLarge())
		case "memory":
			answer = fmt.Sprint(sandbox.Allow(sandbox.Limits{Memory: 64 << 20}), allocate(32<<20), allocate(256<<20))
		case "limits":
			var core, files syscall.Rlimit
			_ = syscall.Getrlimit(syscall.RLIMIT_CORE, &core)
			_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files)
			answer = fmt.Sprint(core.Max, files.Max)
		case "number":
			answer = strconv.Itoa(os.Getpid())
		case "crash":
			panic("as it was told to")
		}
		fmt.Fprintln(parent, answer)
	}
	return lines.Err()
}

// writeLarge writes a byte to a file with a name, which a helper must not.
func writeLarge() error {
	file, err := os.CreateTemp("", "helper")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write([]byte("x"))
	return errors.Unwrap(err)
}

// allocate takes private memory as C libraries do.
func allocate(bytes int) error {
	_, err := syscall.Mmap(-1, 0, bytes, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	return err
}

func startHelper(t *testing.T, environ ...string) *sandbox.Helper {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	helper, err := sandbox.StartHelper([]string{program, "helper"}, environ)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = helper.Close() })
	return helper
}

func askHelper(t *testing.T, helper *sandbox.Helper, question string) string {
	t.Helper()
	if _, err := fmt.Fprintln(helper.Conn, question); err != nil {
		t.Fatal(err)
	}
	answer, err := bufio.NewReader(helper.Conn).ReadString('\n')
	if err != nil {
		t.Fatalf("ask for %s: %v", question, err)
	}
	return strings.TrimSuffix(answer, "\n")
}

func TestAHelperIsConfined(t *testing.T) {
	t.Setenv("SPILLWAY_S3_SECRET_KEY", "hidden")
	helper := startHelper(t, "ONLY=this")
	tests := map[string]struct{ question, want string }{
		"it has the environment it is given": {"environment", "ONLY=this"},
		"it leaves no core, and opens few":   {"limits", "0 64"},
		"it writes no file":                  {"files", "<nil> file too large"},
		"it gets no more memory than allowed": {"memory",
			"<nil> <nil> cannot allocate memory"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := askHelper(t, helper, test.question); got != test.want {
				t.Errorf("%s: %q, want %q", test.question, got, test.want)
			}
		})
	}
}

func TestAHelperIgnoresTheStopOfItsService(t *testing.T) {
	helper := startHelper(t)
	id, err := strconv.Atoi(askHelper(t, helper, "number")) // it is confined by now
	if err != nil {
		t.Fatal(err)
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		if err := syscall.Kill(id, signal); err != nil {
			t.Fatal(err)
		}
	}
	askHelper(t, helper, "limits")
}

func TestAHelperIsKilledAtAnyTime(t *testing.T) {
	helper := startHelper(t)
	askHelper(t, helper, "limits")
	if helper.Gone() {
		t.Error("it counts as gone while it waits")
	}
	helper.Kill()
	if n, err := helper.Conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read %d bytes, %v from it", n, err)
	}
	if !helper.Gone() {
		t.Error("it does not count as gone")
	}
	for range 2 {
		if err := helper.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	helper.Kill()
}

func TestHowAHelperCrashedIsTold(t *testing.T) {
	helper := startHelper(t)
	if _, err := fmt.Fprintln(helper.Conn, "crash"); err != nil {
		t.Fatal(err)
	}
	if _, err := helper.Conn.Read(make([]byte, 1)); err == nil {
		t.Error("it answered")
	}
	if err := helper.Close(); err == nil || !strings.Contains(err.Error(), "as it was told to") {
		t.Errorf("close: %v", err)
	}
}

func TestAHelperThatIsNotThereIsAnError(t *testing.T) {
	if _, err := sandbox.StartHelper([]string{"/no/such/program"}, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error = %v", err)
	}
}
