package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Provider starts and ends machines. Every method is safe for concurrent use,
// honours ctx, and answers failures as *ProviderError. fleettest holds all
// providers to this contract.
type Provider interface {
	// Launch asks for one machine. The same token asks for the same machine, so
	// that a repeated call never makes two; tags are part of the call that
	// creates. An error that is not one of NoCapacity, Quota, Throttled and
	// Permanent leaves open whether there is a machine.
	Launch(ctx context.Context, r LaunchRequest) (Machine, error)
	// Terminate asks for the end of a machine and its disks. It is idempotent:
	// NotFound means that there is no such machine any more, or not yet.
	Terminate(ctx context.Context, id string) error
	// Inventory lists every machine and loose disk with the tag of this fleet,
	// all pages or an error, terminated machines for as long as the provider
	// remembers them. A machine just launched may be missing for a while.
	Inventory(ctx context.Context, fleetID string) (Inventory, error)
	// Offers tells what could be launched now and what it costs. A provider
	// without an interface for prices answers those of its configuration.
	Offers(ctx context.Context) ([]Offer, error)
	// RemoveDisk deletes a disk that belongs to no machine; idempotent.
	RemoveDisk(ctx context.Context, id string) error
}

// Outcome says what a provider's failure means for what is tried next.
type Outcome string

// The outcomes. Unknown is a lost answer: the machine may be there.
const (
	Unknown    Outcome = "unknown"
	NoCapacity Outcome = "no_capacity" // this type, zone and market, for now
	OverQuota  Outcome = "quota"       // the account's own limit: all of the provider
	Throttled  Outcome = "throttled"   // too many calls: all of the provider, briefly
	NotFound   Outcome = "not_found"
	Permanent  Outcome = "permanent" // a mistake in the settings or the permissions
)

// ProviderError is a failure with its meaning.
type ProviderError struct {
	Outcome Outcome
	After   time.Duration // when to come again; 0 the default of the outcome
	Err     error         // without secrets
}

func (e *ProviderError) Error() string { return fmt.Sprintf("%s: %v", e.Outcome, e.Err) }

// Unwrap gives the provider's own error.
func (e *ProviderError) Unwrap() error { return e.Err }

// OutcomeOf is Unknown for whatever is no *ProviderError, a time-out included.
func OutcomeOf(err error) Outcome {
	if e, ok := errors.AsType[*ProviderError](err); ok {
		return e.Outcome
	}
	return Unknown
}

// Market is how a machine is paid for: the words of jobs.Market.
type Market string

// The markets.
const (
	VPS      Market = "vps"
	OnDemand Market = "on_demand"
	Spot     Market = "spot"
)

// Place is where capacity runs out: the scope of a cool-off. An empty Type
// stands for the whole provider.
type Place struct {
	Provider string `json:"provider"`
	Type     string `json:"type,omitempty"`
	Zone     string `json:"zone,omitempty"`
	Market   Market `json:"market,omitempty"`
}

func (p Place) String() string {
	if p.Type == "" {
		return p.Provider
	}
	if p.Zone == "" {
		return fmt.Sprintf("%s %s, %s", p.Provider, p.Type, p.Market)
	}
	return fmt.Sprintf("%s %s in %s, %s", p.Provider, p.Type, p.Zone, p.Market)
}

// Offer is a place with its price an hour.
type Offer struct {
	Place
	Price Money `json:"price"`
	// Ceiling is what it can rise to while a machine runs: the bid of a spot
	// machine, or its price on demand. Limits are held against it.
	Ceiling   Money `json:"ceiling"`
	Surcharge Money `json:"surcharge,omitempty"` // disks and addresses; in neither of the two
	Slots     int   `json:"slots,omitempty"`
	// Granularity is the least time that is paid for, and the step above it is
	// seconds; 0 pays by the second from the first.
	Granularity time.Duration `json:"granularity,omitempty"`
	Source      string        `json:"source"` // "live" or "config"
}

// Rate is what limits count for it an hour.
func (o Offer) Rate() Money { return max(o.Price, o.Ceiling) + o.Surcharge }

// Candidate is one way to launch, in the order of preference.
type Candidate struct {
	Offer
	Image string `json:"image"`
	Bid   Money  `json:"bid,omitempty"` // spot_max_price; 0 none
}

// LaunchRequest is one machine for one worker.
type LaunchRequest struct {
	Candidate
	// Token is the provider's idempotency token: at most 64 ASCII characters, of
	// decision, attempt and candidate.
	Token    string   `json:"token"`
	FleetID  string   `json:"fleet_id"`  // tags: whose machine it is,
	WorkerID string   `json:"worker_id"` // and the row it belongs to
	Queues   []string `json:"queues"`
	Slots    int      `json:"slots,omitempty"`
	// Reserve keeps slots of the VPS worker for queues.
	Reserve map[string]int `json:"reserve,omitempty"`
	// MaxLife is after how long the machine ends itself where the provider can
	// do that, should nobody be left to end it; 0 never.
	MaxLife time.Duration `json:"max_life,omitempty"`
}

// MachineState is where a machine stands with its provider.
type MachineState string

// The states. Stopped is a machine whose disk is still paid for.
const (
	MachinePending    MachineState = "pending"
	MachineRunning    MachineState = "running"
	MachineStopping   MachineState = "stopping"
	MachineStopped    MachineState = "stopped"
	MachineTerminated MachineState = "terminated"
)

// Machine is what a provider knows of one.
type Machine struct {
	Place
	ID           string       `json:"id"`
	WorkerID     string       `json:"worker_id"` // its tag
	Token        string       `json:"token,omitempty"`
	State        MachineState `json:"state"`
	LaunchedAt   time.Time    `json:"launched_at"`            // by the provider's clock
	TerminatedAt time.Time    `json:"terminated_at,omitzero"` // the same
}

// Disk is a disk that belongs to no machine.
type Disk struct {
	ID        string    `json:"id"`
	WorkerID  string    `json:"worker_id,omitempty"`
	CreatedAt time.Time `json:"created_at,omitzero"`
}

// Inventory is all there is of a fleet at one provider.
type Inventory struct {
	Machines []Machine `json:"machines"`
	Disks    []Disk    `json:"disks,omitempty"`
}
