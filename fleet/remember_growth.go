package fleet

import (
	"maps"
	"slices"
	"time"
)

// flapTime is how soon after a removal a launch undoes it.
const flapTime = 10 * time.Minute

// rememberGrowth starts cooldowns with what was carried out, keeps what the
// backlog policy recommended, and counts launches that undo a removal.
func (m *Memory) rememberGrowth(now time.Time, cfg Config, snap Snapshot, done []Decision) {
	for _, x := range done {
		if x.Outcome != OutcomeDone || x.Failed {
			continue
		}
		switch x.Kind {
		case KindLaunch, KindUndrain:
			m.rose(now, x)
		case KindDrain:
			m.fell(now, snap, x)
		case KindRestrict:
			if x.MaxRank == 0 && x.Queue != "" { // of a parked worker; the VPS worker's is of no queue
				m.LastUp[x.Queue] = now
			}
		}
	}
	m.rememberDrained(snap, done)
	m.rememberQueues(now, cfg, snap)
}

func (m *Memory) rose(now time.Time, x Decision) {
	delete(m.Drained, x.WorkerID)
	if x.Queue == "" { // the VPS worker is no burst
		return
	}
	if x.Kind == KindLaunch && within(now, m.LastDown[x.Queue], flapTime) {
		m.Flaps[x.Queue]++
	}
	m.LastUp[x.Queue] = now
}

func (m *Memory) fell(now time.Time, snap Snapshot, x Decision) {
	m.LastDown[x.Queue] = now
	i := slices.IndexFunc(snap.Workers, func(w Worker) bool { return w.ID == x.WorkerID })
	if i >= 0 {
		for _, queue := range snap.Workers[i].Queues {
			m.LastDown[queue] = now
		}
	}
	if idleRule(x) {
		m.Drained[x.WorkerID] = now
	} else {
		delete(m.Drained, x.WorkerID)
	}
}

// idleRule is true for a drain that demand may take back.
func idleRule(x Decision) bool {
	return x.Origin == OriginTick && (x.Rule == ruleIdle || x.Rule == ruleClear)
}

// rememberDrained forgets workers that are gone, or active again.
func (m *Memory) rememberDrained(snap Snapshot, done []Decision) {
	maps.DeleteFunc(m.Drained, func(id string, _ time.Time) bool {
		drained := slices.ContainsFunc(done, func(x Decision) bool { return x.Kind == KindDrain && x.WorkerID == id })
		return !drained && !slices.ContainsFunc(snap.Workers, func(w Worker) bool { return w.ID == id && w.Status == Draining })
	})
}

// rememberQueues leaves what it knows as it is while the queues are not known.
func (m *Memory) rememberQueues(now time.Time, cfg Config, snap Snapshot) {
	d := newDeciding(now, cfg, snap)
	if _, blind := d.blind(); blind {
		return
	}
	for _, q := range snap.Queues {
		m.rememberEmpty(now, q)
		if cfg.Policy == PolicyBacklog {
			v := viewOf(cfg, snap, snap.Workers, q)
			m.rememberWant(now, cfg, q.Name, wantOf(now, cfg, snap, d.mode(), v).workers)
		}
	}
	if cfg.Policy != PolicyBacklog {
		clear(m.Wants)
	}
	for _, per := range []map[string]time.Time{m.LastUp, m.LastDown, m.Empty} {
		maps.DeleteFunc(per, func(queue string, _ time.Time) bool { _, known := cfg.Queues[queue]; return !known })
	}
}

func (m *Memory) rememberEmpty(now time.Time, q QueueState) {
	if q.Depth > 0 || q.Rows > 0 {
		delete(m.Empty, q.Name)
	} else if _, since := m.Empty[q.Name]; !since {
		m.Empty[q.Name] = now
	}
}

func (m *Memory) rememberWant(now time.Time, cfg Config, queue string, n int) {
	wants := slices.DeleteFunc(m.Wants[queue], func(w Want) bool { return now.Sub(w.At) > cfg.ScaleDown.Cooldown || w.At.After(now) })
	m.Wants[queue] = append(wants, Want{At: now, Workers: n})
}

// rememberIdle counts the readings in a row that found a worker without a
// claimed job. While the database is away there is no reading.
func (m *Memory) rememberIdle(now time.Time, cfg Config, snap Snapshot) {
	if newDeciding(now, cfg, snap).away("database") {
		return
	}
	before := m.Idle
	m.Idle = map[string]int{}
	for _, w := range snap.Workers {
		if w.Cloud() && w.Status == Active && !w.RegisteredAt.IsZero() && w.Claimed == 0 {
			m.Idle[w.ID] = before[w.ID] + 1
		}
	}
}
