package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spillway-media/spillway/fleet"
)

// start writes a machine down and starts its worker.
func (p *Provider) start(id string, r fleet.LaunchRequest) (*record, error) {
	rec := &record{
		ID: id, Token: r.Token, FleetID: r.FleetID, WorkerID: r.WorkerID, Market: r.Market, Zone: p.cfg.Zone, MaxLife: r.MaxLife,
	}
	if err := p.dir.save(rec); err != nil {
		return nil, err
	}
	pid, err := p.spawn(id, r)
	if err != nil {
		return nil, errors.Join(outcome(err), p.dir.forget(id))
	}
	rec.Process, rec.Started = p.identify(pid), p.cfg.Clock()
	if err := p.dir.save(rec); err != nil {
		return nil, err // it runs, and is found by its mark
	}
	return rec, nil
}

// spawn starts the program in a session of its own: no terminal's signals reach
// it, and it outlives the scheduler.
func (p *Provider) spawn(id string, r fleet.LaunchRequest) (pid int, err error) {
	log, err := os.OpenFile(p.dir.log(id), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 0, fmt.Errorf("open log: %w", err)
	}
	defer func() { _ = log.Close() }()
	mark, err := os.Open(p.dir.log(id))
	if err != nil {
		return 0, fmt.Errorf("open log: %w", err)
	}
	defer func() { _ = mark.Close() }()
	// It is not bound to a context: it ends when it is told to.
	command := exec.CommandContext(context.Background(), p.cfg.Program, p.cfg.Args...)
	command.Env = p.environment(r)
	command.Stdout, command.Stderr = log, log
	command.ExtraFiles = []*os.File{mark} // becomes markFD
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return 0, fmt.Errorf("start worker: %w", err)
	}
	pid = command.Process.Pid
	return pid, command.Process.Release()
}

// environment tells the worker who it is. What is said last counts.
func (p *Provider) environment(r fleet.LaunchRequest) []string {
	env := append(slices.Clone(p.cfg.Env),
		"SPILLWAY_WORKER_ID="+r.WorkerID,
		"SPILLWAY_WORKER_PROVIDER="+Name,
		"SPILLWAY_WORKER_INSTANCE_TYPE="+Name,
		"SPILLWAY_WORKER_MARKET="+string(r.Market),
	)
	if p.cfg.Zone != "" {
		env = append(env, "SPILLWAY_WORKER_REGION="+p.cfg.Zone)
	}
	if len(r.Queues) > 0 {
		env = append(env, "SPILLWAY_QUEUES="+strings.Join(r.Queues, ","))
	}
	if slots := cmp.Or(r.Slots, p.cfg.Slots); slots > 0 {
		env = append(env, "SPILLWAY_MAX="+strconv.Itoa(slots))
	}
	var kept []string
	for queue, n := range r.Reserve {
		kept = append(kept, fmt.Sprintf("%s=%d", queue, n))
	}
	if slices.Sort(kept); len(kept) > 0 {
		env = append(env, "SPILLWAY_RESERVE="+strings.Join(kept, ","))
	}
	return env
}

// outcome says what it means that a program could not be started: no room is
// for now, anything else is a mistake in the settings.
func outcome(err error) error {
	switch {
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return refuse(fleet.NoCapacity, err)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOEXEC), errors.Is(err, syscall.E2BIG):
		return refuse(fleet.Permanent, err)
	}
	return fmt.Errorf("provider process: %w", err)
}
