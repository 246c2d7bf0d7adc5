package fleetfile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks is where Linux gives up as well.
const maxLinks = 40

// trusted refuses a file that somebody other than root and the user of this
// process could change, or put another in the place of: whoever can write the
// scheduler's file can spend money. It walks every folder and link on the way of
// an absolute path.
func trusted(path string) error {
	rest, links := strings.Split(strings.Trim(path, "/"), "/"), 0
	here := "/"
	for len(rest) > 0 {
		if err := trustedFolder(here); err != nil {
			return err
		}
		next := filepath.Join(here, rest[0])
		facts, err := os.Lstat(next)
		if err != nil {
			return fmt.Errorf("find %s: %w", next, bare(err))
		}
		rest = rest[1:]
		switch {
		case facts.Mode()&fs.ModeSymlink != 0:
			if links++; links > maxLinks {
				return fmt.Errorf("find %s: too many links", path)
			}
			if here, rest, err = follow(here, next, rest); err != nil {
				return err
			}
		case len(rest) > 0:
			here = next
		case facts.Mode().IsRegular():
			return trustedOne(next, facts, false)
		default:
			return fmt.Errorf("%s is no file", next)
		}
	}
	return fmt.Errorf("%s is no file", path)
}

// follow gives the folder that a link starts from, and what is still to go.
func follow(here, link string, rest []string) (string, []string, error) {
	target, err := os.Readlink(link)
	if err != nil {
		return "", nil, fmt.Errorf("follow %s: %w", link, bare(err))
	}
	if filepath.IsAbs(target) {
		here = "/"
	}
	// Joined by hand: what .. means hangs on links that are yet to be followed.
	var parts []string
	for part := range strings.SplitSeq(target, "/") {
		if part != "" && part != "." {
			parts = append(parts, part)
		}
	}
	return here, append(parts, rest...), nil
}

func trustedFolder(path string) error {
	facts, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("find %s: %w", path, bare(err))
	}
	if !facts.IsDir() {
		return fmt.Errorf("%s is no folder", path)
	}
	return trustedOne(path, facts, true)
}

// trustedOne looks at one file or folder. In a folder with the sticky bit, such
// as /tmp, others can add files but not replace those that are there.
func trustedOne(path string, facts fs.FileInfo, folder bool) error {
	if readOnly(path) {
		return nil // mounted so, as orchestrators mount settings
	}
	sticky := folder && facts.Mode()&fs.ModeSticky != 0
	if facts.Mode().Perm()&0o022 != 0 && !sticky {
		return fmt.Errorf("%s can be written by others (mode %04o); take that away with chmod go-w", path, facts.Mode().Perm())
	}
	if at, ok := facts.Sys().(*syscall.Stat_t); ok && at.Uid != 0 && int64(at.Uid) != int64(os.Geteuid()) {
		return fmt.Errorf("%s belongs to neither root nor the user of this process", path)
	}
	return nil
}
