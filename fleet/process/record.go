package process

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// record is what the folder holds of one machine. It is written before the
// process is started, so that a crash leaves none that nobody knows of.
type record struct {
	ID       string        `json:"id"`
	Token    string        `json:"token"`
	FleetID  string        `json:"fleet_id"`
	WorkerID string        `json:"worker_id"`
	Market   fleet.Market  `json:"market"`
	Zone     string        `json:"zone,omitempty"`
	MaxLife  time.Duration `json:"max_life,omitempty"`
	// Process is zero until it has been started.
	Process identity  `json:"process,omitzero"`
	Started time.Time `json:"started,omitzero"`
	Asked   time.Time `json:"asked,omitzero"` // to end
	Ended   time.Time `json:"ended,omitzero"`
}

// idOf makes a machine's ID of its token, so that the same token is the same
// machine.
func idOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return "p-" + hex.EncodeToString(sum[:10])
}

// machine is what is told of it.
func (r *record) machine() fleet.Machine {
	m := fleet.Machine{
		Place: fleet.Place{Provider: Name, Type: Name, Zone: r.Zone, Market: r.Market},
		ID:    r.ID, WorkerID: r.WorkerID, Token: r.Token, State: fleet.MachineRunning, LaunchedAt: r.Started,
	}
	switch {
	case !r.Ended.IsZero():
		m.State, m.TerminatedAt = fleet.MachineTerminated, r.Ended
	case !r.Asked.IsZero():
		m.State = fleet.MachineStopping
	}
	return m
}

// folder is where records lie. Its user holds the lock.
type folder string

const recordEnd, logEnd = ".json", ".log"

func (f folder) log(id string) string { return filepath.Join(string(f), id+logEnd) }

// load reads one; nil when there is none.
func (f folder) load(id string) (*record, error) {
	text, err := os.ReadFile(filepath.Join(string(f), id+recordEnd))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // no record is no failure
	}
	if err != nil {
		return nil, fmt.Errorf("read machine: %w", err)
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("read machine %s: %w", id, err)
	}
	return &r, nil
}

// all reads every one, in order of their IDs.
func (f folder) all() ([]*record, error) {
	files, err := os.ReadDir(string(f))
	if err != nil {
		return nil, fmt.Errorf("list machines: %w", err)
	}
	var list []*record
	for _, file := range files {
		id, is := strings.CutSuffix(file.Name(), recordEnd)
		if !is {
			continue
		}
		r, err := f.load(id)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// save writes one whole, or not at all.
func (f folder) save(r *record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write machine: %w", err)
	}
	path := filepath.Join(string(f), r.ID+recordEnd)
	if err := write(path+".new", text); err != nil {
		return fmt.Errorf("write machine: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("write machine: %w", err)
	}
	return nil
}

func write(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Sync(), file.Close())
}

// forget removes a machine and its log.
func (f folder) forget(id string) error {
	var errs []error
	for _, path := range []string{filepath.Join(string(f), id+recordEnd), f.log(id)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("forget machine: %w", err))
		}
	}
	return errors.Join(errs...)
}
