package fleet

import "time"

// Kind is what a decision does.
type Kind string

// The kinds.
const (
	KindLaunch    Kind = "launch"
	KindUndrain   Kind = "undrain"
	KindDrain     Kind = "drain"
	KindTerminate Kind = "terminate"
	KindRequeue   Kind = "requeue" // jobs of a machine that is gone
	KindAlert     Kind = "alert"
	KindRevert    Kind = "revert_mode" // the daily limit tripped
	KindHold      Kind = "hold"
	KindAdopt     Kind = "adopt"    // a machine and its row have found each other
	KindRestrict  Kind = "restrict" // bound what a worker claims: the VPS worker, or one that is parked
	KindForget    Kind = "forget"   // a row whose machine never was, or is gone
	KindSweep     Kind = "sweep"    // a disk without a machine
	KindReset     Kind = "reset"    // an operator cleared the latch
)

// Kinds are all there are.
func Kinds() []Kind {
	return []Kind{KindLaunch, KindUndrain, KindDrain, KindTerminate, KindRequeue, KindAlert, KindRevert, KindHold, KindAdopt, KindRestrict,
		KindForget, KindSweep, KindReset}
}

// Origin is who wanted it.
type Origin string

// The origins.
const (
	OriginTick   Origin = "tick"
	OriginManual Origin = "manual"
)

// Decision is one thing to do, or not to do, and why. It is the row of
// scaling_decisions, the line in the log, the input of alerts, and what
// "schedule explain" prints.
type Decision struct {
	ID        string    `json:"id"`   // given by the tick: see name in tick.go
	Tick      string    `json:"tick"` // the same for all of one tick
	At        time.Time `json:"at"`
	Kind      Kind      `json:"kind"`
	Origin    Origin    `json:"origin"`
	Queue     string    `json:"queue,omitempty"`
	WorkerID  string    `json:"worker_id,omitempty"`
	Provider  string    `json:"provider,omitempty"`
	MachineID string    `json:"machine_id,omitempty"` // or a disk's
	// Rule names what led to it: "seed.queue_depth_threshold", "max_daily_spend".
	Rule string `json:"rule"`
	// Sentence says it to an operator, in one plain sentence.
	Sentence string `json:"sentence"`
	// Inputs are what the rule was applied to, in the order it reads them.
	Inputs []Fact `json:"inputs,omitempty"`
	// Wanted and Allowed count workers of the queue, launching ones included, and
	// Limit is what made them differ, with its value: "max_workers (3)".
	Wanted   int        `json:"wanted"`
	Allowed  int        `json:"allowed"`
	Limit    string     `json:"limit,omitempty"`
	Rejected []Rejected `json:"rejected,omitempty"`
	// What act needs; nil where the kind needs nothing.
	Launch  *Launch       `json:"launch,omitempty"`
	Within  time.Duration `json:"within,omitempty"` // drain: until its deadline
	MaxRank int           `json:"max_rank,omitempty"`
	Alert   *Notice       `json:"alert,omitempty"`
	Latch   *Latch        `json:"latch,omitempty"`
	Machine *Machine      `json:"machine,omitempty"`
	Request string        `json:"request,omitempty"` // id of the operator's request it answers
	// Outcome is what came of it: OutcomeDone, OutcomeDryRun, or why not.
	Outcome string `json:"outcome,omitempty"`
	Failed  bool   `json:"failed,omitempty"`
	// Attempts are the candidates that act went through.
	Attempts []Attempt `json:"attempts,omitempty"`
}

// Fact is one input.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// The outcomes of decisions that were carried out, or only looked at. Cooldowns
// start with those that are done and not Failed.
const (
	OutcomeDone   = "done"
	OutcomeDryRun = "dry run"
)

// Rejected is what was not taken, and why.
type Rejected struct {
	What   string `json:"what"`
	Reason string `json:"reason"`
	// Rule is the reason in one word, as a hold takes it over when nothing is
	// left: "no_price", "cool_off", "hourly_limit", "max_instances".
	Rule string `json:"rule,omitempty"`
}

// Launch is a machine that may be started: the candidates, best first, all of
// which passed the limits.
type Launch struct {
	Candidates []Candidate    `json:"candidates"`
	Queues     []string       `json:"queues"`
	Slots      int            `json:"slots,omitempty"`
	Reserve    map[string]int `json:"reserve,omitempty"`
	KeepFor    time.Duration  `json:"keep_for,omitempty"`
	MaxLife    time.Duration  `json:"max_life,omitempty"`
}

// Attempt is one candidate that was tried.
type Attempt struct {
	Place
	Token   string `json:"token"`
	Outcome string `json:"outcome"` // OutcomeDone, or the provider's
	Reason  string `json:"reason,omitempty"`
	// After is when the provider said to come again; 0 it did not.
	After time.Duration `json:"after,omitempty"`
}
