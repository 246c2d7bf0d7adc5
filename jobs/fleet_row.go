package jobs

import "time"

// WorkerStatus is where a worker stands.
type WorkerStatus string

// The statuses. Provisioning is a machine that was asked for; terminated is
// one that said goodbye or was found gone.
const (
	WorkerProvisioning WorkerStatus = "provisioning"
	WorkerActive       WorkerStatus = "active"
	WorkerDraining     WorkerStatus = "draining"
	WorkerTerminated   WorkerStatus = "terminated"
)

// WorkerRow is a row of workers.
type WorkerRow struct {
	ID           string   `json:"id"`
	Hostname     string   `json:"hostname"`
	Provider     string   `json:"provider"` // "vps" where nothing else is told
	Region       string   `json:"region,omitempty"`
	InstanceID   string   `json:"instance_id,omitempty"`
	InstanceType string   `json:"instance_type,omitempty"`
	Market       Market   `json:"market"`
	Queues       []string `json:"queues"`
	Slots        int      `json:"slots"`
	Version      string   `json:"version"`
	// CostPerHour is in ten-thousandths of a cent; the column
	// cost_per_hour_cents has four decimals.
	CostPerHour        int64        `json:"cost_per_hour_ten_thousandths_of_cent"`
	Status             WorkerStatus `json:"status"`
	CurrentJobs        int          `json:"current_jobs"`
	RegisteredAt       time.Time    `json:"registered_at"`
	LastHeartbeat      time.Time    `json:"last_heartbeat,omitzero"`
	LastJobCompletedAt time.Time    `json:"last_job_completed_at,omitzero"`
	DrainDeadline      time.Time    `json:"drain_deadline,omitzero"`
	TerminatedAt       time.Time    `json:"terminated_at,omitzero"`
	// Stale is worked out by the store: active or draining, and not heard of
	// for StaleAfter.
	Stale bool `json:"stale"`
	// Latest is the last row of worker_metrics, if there is any.
	Latest *WorkerMetric `json:"latest,omitempty"`
}

// StaleAfter is how long a worker may be silent.
const StaleAfter = 2 * time.Minute

// WorkerMetric is a row of worker_metrics.
type WorkerMetric struct {
	At          time.Time `json:"at"`
	CPUPercent  float64   `json:"cpu_percent"` // of all cores it may use, 0 to 100
	MemoryBytes int64     `json:"memory_bytes"`
	MemoryLimit int64     `json:"memory_limit"` // 0: none known
	JobsRunning int       `json:"jobs_running"`
}
