package fleet

import "time"

// Mode is what the scheduler may do at all.
type Mode string

// The modes. The zero value is VPSOnly, which costs nothing.
const (
	VPSOnly    Mode = "vps_only"
	Hybrid     Mode = "hybrid"
	CloudFirst Mode = "cloud_first"
)

// Policy names a rule by which the wanted number of workers is worked out.
type Policy string

// The policies: the thresholds and cooldowns of scaling_rules (the default),
// the seed's example table, and the time that the backlog takes to work off.
const (
	PolicySeed    Policy = "seed"
	PolicySteps   Policy = "steps"
	PolicyBacklog Policy = "backlog"
)

// Config is the scheduler's file, decoded, with defaults filled in: see Parse.
// docs/config.md lists every key with its default and unit.
type Config struct {
	Mode               Mode
	EvaluationInterval time.Duration
	Policy             Policy
	// Location is the time zone whose midnight begins a day of spending.
	Location           *time.Location
	TargetDrain        time.Duration // backlog: how fast what waits should be worked off
	MinLifetime        time.Duration // before a machine may be taken for idle
	MaxTerminations    int           // idle or orphan ones per tick
	RegistrationTime   time.Duration // how long a machine may take to register
	ProviderPreference []string      // in this order; empty: the cheapest
	CreditMargin       int           // percent that credits should earn above cost
	Queues             map[string]Queue
	Providers          map[string]ProviderConfig
	ScaleUp            ScaleUp
	ScaleDown          ScaleDown
	Limits             Limits
	Alerts             AlertConfig
}

// Queue is what may be done for one queue.
type Queue struct {
	BaselineWorkers int // slots kept for it on the VPS worker
	MaxWorkers      int // all its workers, the baseline, launching and draining ones included
	CloudEnabled    bool
	CloudProvider   string // only this one; "" any that is enabled
	SpotPreferred   bool   // standard jobs (priority 4 to 6) on spot as well
	Batch           string // provider whose managed batch takes the queue over; "" none
	// CreditPerJob is what users pay for one job, for the comparison with cost.
	CreditPerJob Money
}

// ProviderConfig is one provider, whatever its keys are called in the file.
type ProviderConfig struct {
	Enabled bool
	// Region of aws, Zone of google, Datacenter of ionos: one of them is set.
	Region, Zone, Datacenter string
	Types                    []string // instance_type, machine_type or server_type first, then instance_types
	Image                    string   // ami_id or image
	MaxInstances             int
	Spot                     bool  // spot_enabled or preemptible
	SpotMaxPrice             Money // the bid an hour; 0 none
	Prices                   map[string]Price
	Surcharge                Money    // disk and address of a machine, an hour
	Cores, RAMMB             int      // what a machine has; 0: as its type says
	Command                  []string // hook: the program and its arguments
	Slots                    int      // how many jobs a worker takes at once; 0: as it finds right
}

// Price is what a type of machine costs an hour; 0 is not known, except for
// provider process, whose machines cost nothing unless the file says so.
type Price struct{ OnDemand, Spot Money }

// ScaleUp are the rules for more.
type ScaleUp struct {
	QueueDepth int
	OldestAge  time.Duration
	Cooldown   time.Duration
}

// ScaleDown are the rules for fewer.
type ScaleDown struct {
	Idle       time.Duration
	QueueBelow int
	Cooldown   time.Duration
}

// Limits are hard.
type Limits struct {
	Hourly, Daily Money
	Alert         Money // notified when a day's spending reaches it
}

// AlertConfig says who is told of what.
type AlertConfig struct {
	Channels []Channel
	// Quiet is how long an alert that goes on is not sent again.
	Quiet time.Duration
}

// Channel is where notices go.
type Channel struct {
	Kind     string  // "webhook", "console" or "log"
	URL      string  // of the first two
	KeyFile  string  // holds the HMAC key of a webhook, or the console's bearer token
	Template string  // Go template of the JSON body; "" the default document
	Levels   []Level // empty: all
}
