package pictures

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"sync/atomic"
)

// Ring is one picture under many names. Each name is a source of its own to
// the server, so sharing between requests cannot flatter a figure as long as
// fewer are under way than there are names.
type Ring struct {
	kind, ending string
	size         uint64
	next         atomic.Uint64
}

// newRing links root/kind/NNNN.ending to a file, size times.
func newRing(root, kind, file string, size int) (*Ring, error) {
	r := &Ring{kind: kind, ending: filepath.Ext(file), size: uint64(size)}
	if err := os.MkdirAll(filepath.Join(root, kind), 0o755); err != nil {
		return nil, fmt.Errorf("make folder of %s: %w", kind, err)
	}
	for i := range r.size {
		if err := os.Link(file, filepath.Join(root, filepath.FromSlash(r.name(i)))); err != nil {
			return nil, fmt.Errorf("link %s: %w", kind, err)
		}
	}
	return r, nil
}

func (r *Ring) name(i uint64) string {
	return path.Join(r.kind, fmt.Sprintf("%05d%s", i%r.size, r.ending))
}

// Next is the key of the picture under the next name.
func (r *Ring) Next() string { return r.name(r.next.Add(1) - 1) }
