package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// onTerminal runs the program with a terminal as its output until a line with
// part was shown, and gives all that was shown. It is killed then.
func onTerminal(t *testing.T, part string, args ...string) string {
	t.Helper()
	screen, terminal := openTerminal(t)
	command := exec.Command(binary, args...)
	command.Dir, command.Stdout, command.Stderr = t.TempDir(), terminal, terminal
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	_ = terminal.Close()
	defer func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	}()
	var shown strings.Builder
	buffer := make([]byte, 4096)
	for !strings.Contains(shown.String(), part) {
		n, err := screen.Read(buffer)
		shown.Write(buffer[:n])
		if err != nil { // the program has ended
			break
		}
	}
	return shown.String()
}

// openTerminal makes a pseudo-terminal: what is written to terminal can be
// read from screen.
func openTerminal(t *testing.T) (screen, terminal *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 100}); err != nil {
		t.Fatal(err)
	}
	return screen, terminal
}

func TestLogsAreTextOnATerminal(t *testing.T) {
	shown := onTerminal(t, "url=", "serve", "--listen", "127.0.0.1:0")
	if !strings.Contains(shown, "msg=listening address=127.0.0.1:") {
		t.Errorf("log on a terminal = %q, want text", shown)
	}
}

func TestLogsCanBeJSONOnATerminal(t *testing.T) {
	shown := onTerminal(t, `"url"`, "serve", "--listen", "127.0.0.1:0", "--log-format", "json")
	if !strings.Contains(shown, `"msg":"listening","address":"127.0.0.1:`) {
		t.Errorf("log on a terminal = %q, want JSON", shown)
	}
}

func TestConvertShowsItsProgressOnATerminal(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	// The work has to take longer than it takes to draw the bar once.
	args := []string{"convert", "-o", out, "--sizes", "1200x0", "--format", "webp", "--effort", "9", "--jobs", "1"}
	for i := range 3 {
		args = append(args, put(t, in, fmt.Sprintf("%d.jpg", i), jpeg(1500, 1000)))
	}
	bad := put(t, in, "bad.jpg", []byte("no"))
	shown := onTerminal(t, "converted", append(args, bad)...)
	for _, want := range []string{"4 of 4 files", "/s", filepath.Base(bad) + ": ", "3 of 4 files converted, 1 failed"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the terminal shows no %q:\n%s", want, shown)
		}
	}
}
