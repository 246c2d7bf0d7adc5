package blob

import (
	"context"
	"fmt"
	"strings"

	"github.com/spillway-media/spillway/internal/walk"
)

// List implements Store.
func (f *folder) List(ctx context.Context, prefix, after string, limit int) ([]Info, error) {
	if err := checkList(prefix, limit); err != nil {
		return nil, err
	}
	if prefix != "" {
		prefix = strings.TrimSuffix(prefix, "/") + "/"
	}
	files, err := walk.Files(ctx, f.root, walk.Request{
		Prefix: prefix, After: after, Limit: limit,
		// What no key can name is not ours.
		Skip: func(name string) bool { return CheckKey(name) != nil },
	})
	if err != nil {
		return nil, fmt.Errorf("list blobs: %w", err)
	}
	found := make([]Info, len(files))
	for i, file := range files {
		found[i] = infoOf(file.Key, file.Info)
	}
	return found, nil
}
