package machine

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// mapping is one line of a process's memory map with what is resident of it.
type mapping struct {
	start, end uintptr
	access     string // as "r-xp"
	file       string // empty for memory without one
	resident   int64  // bytes
	own        int64  // of these, what is no longer the file's
}

// clean tells whether nothing is lost when the pages of m leave memory: they
// are a file's as they lie there, and cannot be written to.
func (m mapping) clean() bool {
	return strings.HasPrefix(m.file, "/") && m.own == 0 && m.resident > 0 &&
		(m.access == "r-xp" || m.access == "r--p")
}

// cleanMappings reads /proc/PID/smaps (proc_pid_smaps(5)).
func cleanMappings(smaps io.Reader) ([]mapping, error) {
	var list []mapping
	var now mapping
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) < 2:
		case fields[0] == "Rss:":
			now.resident = kilobytes(fields[1])
		case fields[0] == "Anonymous:":
			now.own = kilobytes(fields[1])
		case fields[0] == "VmFlags:": // the last line of each
			if now.clean() {
				list = append(list, now)
			}
			now = mapping{}
		case !strings.HasSuffix(fields[0], ":"):
			now = header(fields)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read memory map: %w", err)
	}
	return list, nil
}

// header reads "start-end access offset device inode file"; what it does not
// understand is a mapping without a file. A name with a space is cut there,
// which still tells that there is one.
func header(fields []string) mapping {
	from, to, ok := strings.Cut(fields[0], "-")
	start, err1 := strconv.ParseUint(from, 16, 64)
	end, err2 := strconv.ParseUint(to, 16, 64)
	if !ok || err1 != nil || err2 != nil || len(fields) < 6 {
		return mapping{}
	}
	return mapping{start: uintptr(start), end: uintptr(end), access: fields[1], file: fields[5]}
}

// kilobytes of what cannot be read are many: such a mapping is left alone.
func kilobytes(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 52)
	if err != nil {
		return 1 << 40
	}
	return n << 10
}
