package derive_test

import (
	"context"
	"io"
	"log/slog"

	"github.com/spillway-media/spillway/internal/blob"
	"github.com/spillway-media/spillway/internal/derive"
	"github.com/spillway-media/spillway/internal/transform"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// warmer makes one output of each picture.
type warmer struct{ images derive.Images }

func (w warmer) Warm(ctx context.Context, p derive.Picture) ([]derive.Output, error) {
	if _, err := w.images.DoAll(ctx, []transform.Job{{Ref: p.Ref}}); err != nil {
		return nil, err
	}
	return []derive.Output{{Size: "20x0", Format: "webp", Bytes: 1}}, nil
}

// nowhere is a blob store that takes everything and keeps nothing.
type nowhere struct{ blob.Store }

func (nowhere) Put(_ context.Context, key string, _ io.ReadSeeker, size int64, _ blob.PutOptions) (blob.Info, error) {
	return blob.Info{Key: key, Size: size}, nil
}

// cut is a blob store whose bodies end too soon.
type cut struct{ blob.Store }

func (c cut) Get(ctx context.Context, key string) (io.ReadSeekCloser, blob.Info, error) {
	body, info, err := c.Store.Get(ctx, key)
	info.Size++
	return body, info, err
}
