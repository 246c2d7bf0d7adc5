package sandbox

import (
	"runtime"
	"strconv"
	"time"
)

// shell only sets limits and becomes the tool. Go cannot set limits between
// fork and exec, and setting them after the start would leave a moment
// without any.
const shell = "/bin/sh"

// limited gives the shell's arguments: a fixed script and, as positional
// parameters that the script never evaluates, the tool and its arguments.
func limited(limits Limits, path string, args []string) []string {
	const block = 512 // the unit of ulimit -f in POSIX
	seconds := (limits.CPU + time.Second - 1) / time.Second
	script := "ulimit -c 0" +
		" && ulimit -t " + strconv.FormatInt(int64(seconds), 10) +
		" && ulimit -f " + strconv.FormatInt((limits.File+block-1)/block, 10) +
		" && ulimit -n " + strconv.Itoa(limits.Handles)
	if runtime.GOOS == "linux" {
		// Elsewhere the address space cannot be limited and ulimit -v fails.
		script += " && ulimit -v " + strconv.FormatInt(limits.Memory>>10, 10)
	}
	return append([]string{"-c", script + ` && exec "$0" "$@"`, path}, args...)
}
