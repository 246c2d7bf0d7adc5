package process_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/process"
)

// TestMain makes this binary the worker as well: what STANDIN names.
func TestMain(m *testing.M) {
	switch os.Getenv("STANDIN") {
	case "":
		os.Exit(m.Run())
	case "crashes":
		os.Exit(3)
	case "quiet":
		<-time.After(10 * time.Minute)
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
		<-time.After(10 * time.Minute)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		report()
		<-time.After(10 * time.Minute)
	case "brood":
		child := exec.Command("sleep", "600")
		child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		child.Env = []string{}
		if err := child.Start(); err != nil {
			os.Exit(4)
		}
		signal.Ignore(syscall.SIGTERM)
		report(strconv.Itoa(child.Process.Pid))
		<-time.After(10 * time.Minute)
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	report()
	<-asked
}

// report tells the test that the worker runs, by a pipe with a name.
func report(words ...string) {
	pipe, err := os.OpenFile(os.Getenv("REPORT"), os.O_WRONLY, 0)
	if err != nil {
		os.Exit(5)
	}
	lines := append([]string{"pid=" + strconv.Itoa(os.Getpid()), "child=" + strings.Join(words, "")}, os.Environ()...)
	_, _ = pipe.WriteString(strings.Join(lines, "\n") + "\n")
	_ = pipe.Close()
}

// rig is a provider of stand-ins with a clock of its own.
type rig struct {
	t      *testing.T
	ctx    context.Context //nolint:containedctx // it outlives the test, for its end
	p      *process.Provider
	cfg    process.Config
	now    time.Time
	report string
}

func start(t *testing.T, standin string) *rig {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, ctx: context.WithoutCancel(t.Context()), now: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC), report: filepath.Join(t.TempDir(), "report")}
	if err := syscall.Mkfifo(r.report, 0o600); err != nil {
		t.Fatal(err)
	}
	r.cfg = process.Config{
		Dir: filepath.Join(t.TempDir(), "machines"), Program: program, Zone: "here",
		Env:   []string{"STANDIN=" + standin, "REPORT=" + r.report, "PATH=" + os.Getenv("PATH"), "SECRET=swordfish"},
		Clock: func() time.Time { return r.now },
	}
	r.restart()
	t.Cleanup(r.end)
	return r
}

// end has nothing left of what a test started.
func (r *rig) end() {
	r.now = r.now.Add(24 * time.Hour)
	left := func() []string {
		files, _ := filepath.Glob(filepath.Join(r.cfg.Dir, "p-*.json"))
		return files
	}
	for stop := time.Now().Add(20 * time.Second); len(left()) > 0; {
		for _, file := range left() {
			if err := r.p.Terminate(r.ctx, strings.TrimSuffix(filepath.Base(file), ".json")); err != nil && fleet.OutcomeOf(err) != fleet.NotFound {
				r.t.Fatal(err)
			}
		}
		r.now = r.now.Add(time.Hour)
		if time.Now().After(stop) {
			r.t.Fatalf("left are %v", left())
		}
	}
}

// restart is a new scheduler with the same folder.
func (r *rig) restart() {
	r.t.Helper()
	p, err := process.New(r.cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.p = p
}

func (r *rig) request(token string) fleet.LaunchRequest {
	return fleet.LaunchRequest{
		Candidate: fleet.Candidate{Offer: fleet.Offer{Place: fleet.Place{Provider: process.Name, Type: process.Name, Market: fleet.OnDemand}}},
		Token:     token, FleetID: "f", WorkerID: "w-" + token, Queues: []string{"images", "ocr"}, Slots: 3, Reserve: map[string]int{"ocr": 1},
	}
}

// launch waits for the worker and answers what it says of itself.
func (r *rig) launch(token string) (fleet.Machine, map[string]string) {
	r.t.Helper()
	m, err := r.p.Launch(r.t.Context(), r.request(token))
	if err != nil {
		r.t.Fatal(err)
	}
	pipe, err := os.Open(r.report)
	if err != nil {
		r.t.Fatal(err)
	}
	defer pipe.Close()
	said := map[string]string{}
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), "=")
		said[key] = value
	}
	return m, said
}

func (r *rig) machines() []fleet.Machine {
	r.t.Helper()
	inventory, err := r.p.Inventory(r.ctx, "f")
	if err != nil {
		r.t.Fatal(err)
	}
	return inventory.Machines
}

// state waits until a machine is in it.
func (r *rig) state(id string, want fleet.MachineState) fleet.Machine {
	r.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		for _, m := range r.machines() {
			if m.ID == id && m.State == want {
				return m
			}
		}
	}
	r.t.Fatalf("machine %s is not %s: %+v", id, want, r.machines())
	return fleet.Machine{}
}

// there says whether a process is, as a zombie too.
func there(pid string) bool {
	_, err := os.Stat(filepath.Join("/proc", pid))
	return err == nil
}

// runs says whether a process runs; a zombie waits for whoever is its parent.
func runs(pid string) bool {
	text, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	return err == nil && !strings.Contains(string(text), ") Z ")
}

func itoa(n int) string { return strconv.Itoa(n) }
