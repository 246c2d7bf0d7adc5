package process

import (
	"os"
	"syscall"
	"time"
)

// longestLog is from where on a worker's log begins anew.
const longestLog = 64 << 20

// settle brings the records up to what is: it lets go of children that ended,
// finds a process whose number a crash kept from being written, ends what has
// had its time, and forgets what ended long ago.
func (p *Provider) settle(now time.Time) error {
	list, err := p.dir.all()
	if err != nil {
		return err
	}
	for _, r := range list {
		if err := p.settleOne(r, now); err != nil {
			return err
		}
	}
	return nil
}

func (p *Provider) settleOne(r *record, now time.Time) error {
	switch {
	case !r.Ended.IsZero():
		if now.Sub(r.Ended) >= p.cfg.Remember {
			return p.dir.forget(r.ID)
		}
		return nil
	case r.Process.PID == 0:
		return p.recover(r, now)
	}
	if !p.runs(r.Process) {
		return p.bury(r, now)
	}
	p.shorten(r)
	switch {
	case !r.Asked.IsZero() && now.Sub(r.Asked) >= p.cfg.Grace:
		p.kill(r)
	case r.Asked.IsZero() && r.MaxLife > 0 && now.Sub(r.Started) >= r.MaxLife:
		return p.ask(r, now)
	}
	return nil
}

// recover looks for the process of a launch that was cut off.
func (p *Provider) recover(r *record, now time.Time) error {
	found, ok := p.head(r.ID)
	if !ok {
		return p.dir.forget(r.ID) // it was never started
	}
	r.Process, r.Started = found, now
	return p.dir.save(r)
}

// bury ends a machine whose worker is gone, with whatever that left running.
func (p *Provider) bury(r *record, now time.Time) error {
	p.kill(r)
	r.Ended = now
	return p.dir.save(r)
}

// ask has a worker end: it gives back what it still has.
func (p *Provider) ask(r *record, now time.Time) error {
	r.Asked = now
	if err := p.dir.save(r); err != nil {
		return err
	}
	if p.runs(r.Process) {
		_ = syscall.Kill(r.Process.PID, syscall.SIGTERM) // one that is gone by now is found so later
	}
	return nil
}

// shorten keeps a log from filling the disk. The worker appends, so it goes on
// at the beginning.
func (p *Provider) shorten(r *record) {
	if info, err := os.Stat(p.dir.log(r.ID)); err == nil && info.Size() > longestLog {
		_ = os.Truncate(p.dir.log(r.ID), 0)
	}
}
