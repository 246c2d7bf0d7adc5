package walk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// File is one that was found.
type File struct {
	Key  string // its path below the root, with slashes
	Info fs.FileInfo
}

// Request says what to list.
type Request struct {
	// Prefix is what keys begin with, and After what they come after. Both may
	// end within a name, and both have to be clean.
	Prefix, After string
	Limit         int
	// Skip leaves out names, of folders with all that is in them; nil none.
	Skip func(name string) bool
}

// Files gives up to Limit regular files in the order of their keys' bytes.
func Files(ctx context.Context, root *os.Root, r Request) ([]File, error) {
	w := &walker{root: root, Request: r}
	dir := r.Prefix[:strings.LastIndexByte(r.Prefix, '/')+1]
	if err := w.folder(ctx, dir); err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	return w.found, nil
}

type walker struct {
	Request
	root  *os.Root
	found []File
}

func (w *walker) full() bool { return len(w.found) >= w.Limit }

// folder goes through one, whose name ends with a slash or is empty, by rounds
// of names.
func (w *walker) folder(ctx context.Context, dir string) error {
	from := ""
	for !w.full() {
		names, err := w.names(ctx, dir, from)
		if err != nil || len(names) == 0 {
			return err
		}
		for _, name := range names {
			if err := w.visit(ctx, dir+name); err != nil || w.full() {
				return err
			}
		}
		from = names[len(names)-1]
	}
	return nil
}

func (w *walker) visit(ctx context.Context, name string) error {
	if strings.HasSuffix(name, "/") {
		return w.folder(ctx, name)
	}
	info, err := w.root.Stat(name)
	switch {
	case err == nil && info.Mode().IsRegular():
		w.found = append(w.found, File{name, info})
	case isLost(err):
		return err
	}
	return nil // it went meanwhile, is no file, or leads out of the root
}

// isLost tells files that are not to be had from those that are kept from us:
// leaving them out would be a list that is not whole and does not say so.
func isLost(err error) bool {
	for _, lost := range []error{fs.ErrPermission, syscall.EIO, syscall.EMFILE, syscall.ENFILE} {
		if errors.Is(err, lost) {
			return true
		}
	}
	return false
}

// round is how many names are read at once, and kept beyond what is asked for.
const round = 256

// names gives the next few names of a folder in the order that keys have, in
// which a folder counts with its slash.
func (w *walker) names(ctx context.Context, dir, from string) ([]string, error) {
	file, err := w.root.Open(path.Clean("./" + dir))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read from
	var names []string
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		entries, err := file.ReadDir(round)
		for _, entry := range entries {
			if name := w.wanted(dir, from, entry); name != "" {
				names = append(names, name)
			}
		}
		if len(names) > 2*w.Limit+round || err != nil {
			slices.Sort(names)
			names = names[:min(len(names), w.Limit)]
		}
		if err == io.EOF || errors.Is(err, syscall.ENOTDIR) {
			return names, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// wanted is the name of an entry that may lead to a key, or empty.
func (w *walker) wanted(dir, from string, entry fs.DirEntry) string {
	name := entry.Name()
	if w.Skip != nil && w.Skip(name) {
		return ""
	}
	if entry.IsDir() {
		name += "/"
	}
	full := dir + name
	switch {
	case name <= from:
		return ""
	case full <= w.After && (!entry.IsDir() || !strings.HasPrefix(w.After, full)):
		return "" // a folder that After lies in still has keys to give
	case !strings.HasPrefix(full, w.Prefix):
		return ""
	}
	return name
}
