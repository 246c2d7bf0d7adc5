package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// List implements Store. It holds no more names in memory than about twice
// what it gives, however many a folder has.
func (f *folder) List(ctx context.Context, prefix, after string, limit int) ([]Info, error) {
	if err := checkList(prefix, limit); err != nil {
		return nil, err
	}
	if prefix != "" && !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	l := &listing{folder: f, after: after, limit: limit}
	if err := l.walk(ctx, prefix); err != nil {
		return nil, fmt.Errorf("list blobs: %w", err)
	}
	return l.found, nil
}

// listing is one walk in the order of keys.
type listing struct {
	folder *folder
	after  string
	limit  int
	found  []Info
}

func (l *listing) full() bool { return len(l.found) >= l.limit }

// walk goes through a folder, whose name ends with a slash or is empty, by
// rounds of names.
func (l *listing) walk(ctx context.Context, dir string) error {
	from := ""
	for !l.full() {
		names, err := l.names(ctx, dir, from)
		if err != nil || len(names) == 0 {
			return err
		}
		for _, name := range names {
			if err := l.visit(ctx, dir+name); err != nil || l.full() {
				return err
			}
		}
		from = names[len(names)-1]
	}
	return nil
}

func (l *listing) visit(ctx context.Context, name string) error {
	if strings.HasSuffix(name, "/") {
		return l.walk(ctx, name)
	}
	info, err := l.folder.Stat(ctx, name)
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrKey) {
		return nil // it went meanwhile, or was put there by somebody else
	}
	if err == nil {
		l.found = append(l.found, info)
	}
	return err
}

// names gives the next few names of a folder in the order that keys have, in
// which a folder counts with its slash.
func (l *listing) names(ctx context.Context, dir, from string) ([]string, error) {
	file, err := l.folder.root.Open(path.Clean("./" + dir))
	if errors.Is(err, fs.ErrNotExist) {
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
		entries, err := file.ReadDir(256)
		for _, entry := range entries {
			if name := l.wanted(dir, from, entry); name != "" {
				names = append(names, name)
			}
		}
		if len(names) > 2*l.limit+256 || err != nil {
			slices.Sort(names)
			names = names[:min(len(names), l.limit)]
		}
		if err == io.EOF {
			return names, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// wanted is the name of an entry that may lead to a key, or empty.
func (l *listing) wanted(dir, from string, entry fs.DirEntry) string {
	name := entry.Name()
	if name[0] == '.' {
		return ""
	}
	if entry.IsDir() {
		name += "/"
	}
	if name <= from {
		return ""
	}
	// A folder that after lies in still has keys to give.
	if full := dir + name; full <= l.after && (!entry.IsDir() || !strings.HasPrefix(l.after, full)) {
		return ""
	}
	return name
}
