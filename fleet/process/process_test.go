package process_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/process"
)

func TestAWorkerIsToldWhoItIs(t *testing.T) {
	r := start(t, "obeys")
	_, said := r.launch("t1")
	for name, want := range map[string]string{
		"SPILLWAY_WORKER_ID": "w-t1", "SPILLWAY_WORKER_PROVIDER": "process", "SPILLWAY_WORKER_MARKET": "on_demand",
		"SPILLWAY_WORKER_REGION": "here", "SPILLWAY_QUEUES": "images,ocr", "SPILLWAY_MAX": "3", "SPILLWAY_RESERVE": "ocr=1",
	} {
		if said[name] != want {
			t.Errorf("%s is %q, want %q", name, said[name], want)
		}
	}
}

func TestAWorkerThatIsAskedEndsAndLeavesNoZombie(t *testing.T) {
	r := start(t, "obeys")
	m, said := r.launch("t1")
	if err := r.p.Terminate(t.Context(), m.ID); err != nil {
		t.Fatal(err)
	}
	ended := r.state(m.ID, fleet.MachineTerminated)
	if there(said["pid"]) {
		t.Error("its process is still there")
	}
	if !ended.TerminatedAt.Equal(r.now) {
		t.Errorf("it ended at %s", ended.TerminatedAt)
	}
}

func TestAStubbornWorkerIsKilledWhenItsGraceIsOver(t *testing.T) {
	r := start(t, "stubborn")
	m, said := r.launch("t1")
	if err := r.p.Terminate(t.Context(), m.ID); err != nil {
		t.Fatal(err)
	}
	r.now = r.now.Add(10*time.Second - 1)
	if got := r.machines()[0].State; got != fleet.MachineStopping {
		t.Errorf("before its grace is over it is %s", got)
	}
	r.now = r.now.Add(1)
	r.state(m.ID, fleet.MachineTerminated)
	if there(said["pid"]) {
		t.Error("its process is still there")
	}
}

func TestToolsInGroupsOfTheirOwnEndWithTheirWorker(t *testing.T) {
	for name, end := range map[string]func(r *rig, m fleet.Machine, pid string){
		"when it is ended": func(r *rig, m fleet.Machine, _ string) {
			if err := r.p.Terminate(t.Context(), m.ID); err != nil {
				t.Fatal(err)
			}
			r.now = r.now.Add(time.Minute)
		},
		"when it crashes": func(r *rig, _ fleet.Machine, pid string) {
			if err := exec.Command("kill", "-KILL", pid).Run(); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, "brood")
			m, said := r.launch("t1")
			end(r, m, said["pid"])
			r.state(m.ID, fleet.MachineTerminated)
			for end := time.Now().Add(10 * time.Second); runs(said["child"]); {
				if time.Now().After(end) {
					t.Fatal("its tool still runs")
				}
			}
		})
	}
}

func TestAWorkerThatCrashesIsListedAsTerminated(t *testing.T) {
	r := start(t, "crashes")
	m, err := r.p.Launch(t.Context(), r.request("t1"))
	if err != nil {
		t.Fatal(err)
	}
	r.state(m.ID, fleet.MachineTerminated)
}

func TestANewSchedulerKnowsTheMachinesOfTheOldOne(t *testing.T) {
	r := start(t, "obeys")
	m, said := r.launch("t1")
	r.restart()
	got := r.machines()
	if len(got) != 1 || got[0] != m {
		t.Fatalf("it knows %+v, want %+v", got, m)
	}
	again, err := r.p.Launch(t.Context(), r.request("t1"))
	if err != nil || again != m {
		t.Errorf("the same token gives %+v, %v", again, err)
	}
	if err := r.p.Terminate(t.Context(), m.ID); err != nil {
		t.Fatal(err)
	}
	r.state(m.ID, fleet.MachineTerminated)
	if there(said["pid"]) {
		t.Error("its process is still there")
	}
}

func TestAWorkerWhoseNumberWasNotWrittenDownIsFound(t *testing.T) {
	r := start(t, "obeys")
	m, said := r.launch("t1")
	path := filepath.Join(r.cfg.Dir, m.ID+".json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut, _, ok := strings.Cut(string(text), `,"process"`)
	if !ok {
		t.Fatalf("the record is %s", text)
	}
	if err := os.WriteFile(path, []byte(cut+"}"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.restart()
	if got := r.machines(); len(got) != 1 || got[0].ID != m.ID || got[0].State != fleet.MachineRunning {
		t.Fatalf("the machines are %+v", got)
	}
	if err := r.p.Terminate(t.Context(), m.ID); err != nil {
		t.Fatal(err)
	}
	r.state(m.ID, fleet.MachineTerminated)
	if there(said["pid"]) {
		t.Error("its process is still there")
	}
}

func TestALaunchThatNeverStartedItsWorkerIsForgotten(t *testing.T) {
	r := start(t, "obeys")
	m, _ := r.launch("t1")
	if err := r.p.Terminate(t.Context(), m.ID); err != nil {
		t.Fatal(err)
	}
	r.state(m.ID, fleet.MachineTerminated)
	path := filepath.Join(r.cfg.Dir, m.ID+".json")
	if err := os.WriteFile(path, []byte(`{"id":"`+m.ID+`","token":"t1","fleet_id":"f","worker_id":"w-t1","market":"on_demand"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := r.machines(); len(got) != 0 {
		t.Errorf("the machines are %+v", got)
	}
}

func TestANumberThatAnotherProcessHasNowIsNeverSignalled(t *testing.T) {
	r := start(t, "obeys")
	m, _ := r.launch("t1")
	if err := r.p.Terminate(t.Context(), m.ID); err != nil {
		t.Fatal(err)
	}
	r.state(m.ID, fleet.MachineTerminated)
	other := exec.Command("sleep", "600")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = other.Wait() }()
	defer func() { _ = other.Process.Kill(); <-ended }()
	record := `{"id":"` + m.ID + `","fleet_id":"f","process":{"pid":` + itoa(other.Process.Pid) + `,"start":"1","boot":"another"},"started":"2026-12-01T12:00:00Z","asked":"2026-12-01T12:00:01Z"}`
	if err := os.WriteFile(filepath.Join(r.cfg.Dir, m.ID+".json"), []byte(record), 0o600); err != nil {
		t.Fatal(err)
	}
	r.now = r.now.Add(time.Minute)
	r.state(m.ID, fleet.MachineTerminated)
	select {
	case <-ended:
		t.Error("it was ended")
	default:
	}
	if err := other.Process.Signal(syscall.Signal(0)); err != nil {
		t.Error(err)
	}
}

func TestAMachineEndsItselfWhenItsLifeIsOver(t *testing.T) {
	r := start(t, "obeys")
	request := r.request("t1")
	request.MaxLife = time.Hour
	m, err := r.p.Launch(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := os.Open(r.report)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	r.now = r.now.Add(time.Hour)
	r.machines()
	r.now = r.now.Add(time.Minute)
	r.state(m.ID, fleet.MachineTerminated)
}

func TestWhatEndedIsForgottenInTheEnd(t *testing.T) {
	r := start(t, "obeys")
	m, _ := r.launch("t1")
	if err := r.p.Terminate(t.Context(), m.ID); err != nil {
		t.Fatal(err)
	}
	r.state(m.ID, fleet.MachineTerminated)
	r.now = r.now.Add(time.Hour)
	if got := r.machines(); len(got) != 0 {
		t.Errorf("the machines are %+v", got)
	}
	files, err := filepath.Glob(filepath.Join(r.cfg.Dir, m.ID+"*"))
	if err != nil || len(files) != 0 {
		t.Errorf("left are %v, %v", files, err)
	}
}

func TestNothingOfAWorkersEnvironmentIsWrittenDown(t *testing.T) {
	r := start(t, "obeys")
	m, _ := r.launch("t1")
	text, err := os.ReadFile(filepath.Join(r.cfg.Dir, m.ID+".json"))
	if err != nil || strings.Contains(string(text), "swordfish") {
		t.Errorf("the record is %s, %v", text, err)
	}
	info, err := os.Stat(r.cfg.Dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v, %v", info.Mode(), err)
	}
}

func TestALaunchThatCannotBeSaysWhy(t *testing.T) {
	for name, change := range map[string]func(*process.Config, *fleet.LaunchRequest){
		"the program is not there":     func(c *process.Config, _ *fleet.LaunchRequest) { c.Program = "/nowhere/spillway" },
		"the program is no program":    func(c *process.Config, _ *fleet.LaunchRequest) { c.Program = "/etc/passwd" },
		"there is no spot market":      func(_ *process.Config, r *fleet.LaunchRequest) { r.Market = fleet.Spot },
		"there are no types":           func(_ *process.Config, r *fleet.LaunchRequest) { r.Type = "c6i.xlarge" },
		"a worker without a name":      func(_ *process.Config, r *fleet.LaunchRequest) { r.WorkerID = "" },
		"a token that is far too long": func(_ *process.Config, r *fleet.LaunchRequest) { r.Token = strings.Repeat("x", 65) },
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, "obeys")
			request := r.request("t1")
			change(&r.cfg, &request)
			r.restart()
			_, err := r.p.Launch(t.Context(), request)
			if got := fleet.OutcomeOf(err); got != fleet.Permanent {
				t.Errorf("the outcome is %s: %v", got, err)
			}
			if got := r.machines(); len(got) != 0 {
				t.Errorf("the machines are %+v", got)
			}
		})
	}
}

func TestManySchedulersMakeOneMachineOfOneToken(t *testing.T) {
	r := start(t, "crashes")
	var all sync.WaitGroup
	ids := make([]string, 8)
	for i := range ids {
		p, err := process.New(r.cfg)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			m, err := p.Launch(context.WithoutCancel(t.Context()), r.request("t1"))
			if err != nil {
				t.Error(err)
			}
			ids[i] = m.ID
		})
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("the ids are %v", ids)
		}
	}
	if got := r.machines(); len(got) != 1 {
		t.Errorf("the machines are %+v", got)
	}
}
