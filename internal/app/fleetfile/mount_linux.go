package fleetfile

import "syscall"

// readOnly is true where the file system takes no writes from anybody.
func readOnly(path string) bool {
	const flagReadOnly = 1 // ST_RDONLY of statfs(2)
	var facts syscall.Statfs_t
	return syscall.Statfs(path, &facts) == nil && facts.Flags&flagReadOnly != 0
}

// changedAt is when the file's mode, owner or content changed last.
func changedAt(at *syscall.Stat_t) int64 { return at.Ctim.Nano() }
