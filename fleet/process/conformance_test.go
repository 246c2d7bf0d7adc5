package process_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-media/spillway/fleet/fleettest"
)

func TestProcessesConform(t *testing.T) {
	for _, standin := range []string{"quiet", "deaf"} {
		t.Run("with a worker that is "+standin, func(t *testing.T) {
			fleettest.Conformance(t, func(t *testing.T) fleettest.Subject { return start(t, standin).subject() })
		})
	}
}

func (r *rig) subject() fleettest.Subject {
	return fleettest.Subject{
		Provider:  r.p,
		Candidate: r.request("t").Candidate,
		Secrets:   []string{"swordfish"},
		Settle: func() { // a moment, and more on the provider's own clock
			<-time.After(5 * time.Millisecond)
			r.now = r.now.Add(time.Second)
		},
		Many: func(fleetID string, n int) {
			for i := range n {
				id := fmt.Sprintf("p-%s-%04d", fleetID, i)
				r.write(id, `{"id":"`+id+`","fleet_id":"`+fleetID+`","started":"2026-12-01T11:59:00Z","ended":"2026-12-01T12:00:00Z"}`)
			}
		},
		FailPage: func(int) {
			r.write("p-torn", "{")
			r.t.Cleanup(func() { _ = os.Remove(filepath.Join(r.cfg.Dir, "p-torn.json")) })
		},
		Interrupt: func(id string) {
			if err := syscall.Kill(r.pid(id), syscall.SIGKILL); err != nil {
				r.t.Fatal(err)
			}
		},
	}
}

func (r *rig) write(id, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.cfg.Dir, id+".json"), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// pid is of the worker of a machine.
func (r *rig) pid(id string) int {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.cfg.Dir, id+".json"))
	if err != nil {
		r.t.Fatal(err)
	}
	var record struct{ Process struct{ PID int } }
	if err := json.Unmarshal(text, &record); err != nil || record.Process.PID < 2 {
		r.t.Fatalf("the record is %s: %v", text, err)
	}
	return record.Process.PID
}
