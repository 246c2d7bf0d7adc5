//go:build !linux

package elastic

import "runtime"

func readHost() hostTicks { return hostTicks{} }

// CPUQuota is how many CPUs this process may use; only Linux limits it further.
func CPUQuota() (cpus float64, limited bool) { return float64(runtime.NumCPU()), false }
