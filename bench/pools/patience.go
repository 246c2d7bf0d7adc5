package main

import "time"

// disturbed is the part of the machine that others may have while a cell runs.
// Above it a repeated measurement says more than an average of both.
const disturbed = 0.1

// patience is the time left for waiting until others are quiet, and for
// measuring again what they disturbed. Without any, all is taken as it comes.
type patience struct{ left time.Duration }

// measure runs a cell when the machine is calm, and again while it was not; it
// keeps the calmest.
func (p *patience) measure(e entry, l *ladder) sample {
	p.await(l.cores)
	best := measure(e, l.load, l.callers)
	for best.disturbance(l.cores) > disturbed && p.left > 0 {
		began := time.Now()
		p.await(l.cores)
		again := measure(e, l.load, l.callers)
		if again.disturbance(l.cores) < best.disturbance(l.cores) {
			best = again
		}
		p.left -= time.Since(began)
	}
	return best
}

// await returns when others have left the machine alone for a moment.
func (p *patience) await(cores int) {
	const look = 200 * time.Millisecond
	for p.left > 0 {
		before, own, began := machineCPU(), ownCPU(), time.Now()
		time.Sleep(look)
		s := sample{others: machineCPU() - before - (ownCPU() - own), elapsed: time.Since(began)}
		p.left -= s.elapsed
		if s.disturbance(cores) <= disturbed {
			return
		}
	}
}

// disturbance is the part of the machine that others had.
func (s *sample) disturbance(cores int) float64 {
	return s.others.Seconds() / (s.elapsed.Seconds() * float64(cores))
}
