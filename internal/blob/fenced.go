package blob

import (
	"context"
	"fmt"
	"io"
)

// Fenced refuses changes to store with the error of fence, which is asked
// right before each: whoever has lost the right to write finds out in time.
// Reading is as it was.
func Fenced(store Store, fence func() error) Store { return &fenced{store, fence} }

type fenced struct {
	Store
	fence func() error
}

// Put implements Store.
func (f *fenced) Put(ctx context.Context, key string, body io.ReadSeeker, size int64, o PutOptions) (Info, error) {
	if err := f.fence(); err != nil {
		return Info{}, fmt.Errorf("put blob: %w", err)
	}
	return f.Store.Put(ctx, key, body, size, o)
}

// Delete implements Store.
func (f *fenced) Delete(ctx context.Context, key string) error {
	if err := f.fence(); err != nil {
		return fmt.Errorf("delete blob: %w", err)
	}
	return f.Store.Delete(ctx, key)
}
