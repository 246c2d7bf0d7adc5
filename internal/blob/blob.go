package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spillway-media/spillway/internal/source"
)

// What a store answers, besides faults of its own.
var (
	ErrNotFound = errors.New("blob not found")
	// ErrExists refuses a Put with IfNoneMatch: somebody has the key.
	ErrExists = errors.New("blob exists")
	// ErrKey wraps what is wrong with a key, which CheckKey tells before.
	ErrKey = errors.New("not a key of a blob")
)

// Store keeps objects by key. It is safe for concurrent use, also by several
// processes.
type Store interface {
	// Put stores the size bytes that body has from where it stands; it may
	// read them more than once. An object appears in whole and durable, or not
	// at all. It takes the place of another of the key unless o forbids it.
	Put(ctx context.Context, key string, body io.ReadSeeker, size int64, o PutOptions) (Info, error)
	// Get opens an object. The caller closes it; reading ends when ctx does.
	// ErrNotFound when there is none.
	Get(ctx context.Context, key string) (io.ReadSeekCloser, Info, error)
	// Stat is Get without the bytes.
	Stat(ctx context.Context, key string) (Info, error)
	// Delete removes an object; there need not be one.
	Delete(ctx context.Context, key string) error
	// List gives up to limit (1 to MaxList) objects below prefix, as a folder
	// is named (with or without a slash at its end; empty: all), whose keys
	// come after after, in the order of their bytes.
	List(ctx context.Context, prefix, after string, limit int) ([]Info, error)
}

// MaxList is how many objects one List gives at most.
const MaxList = 1000

// PutOptions are what a Put may ask for.
type PutOptions struct {
	// IfNoneMatch refuses with ErrExists when the key is taken. Of several who
	// put one key at once, in whatever process, one wins.
	IfNoneMatch bool
}

// Info is what is known of an object.
type Info struct {
	Key         string    `json:"key"`
	Size        int64     `json:"bytes"`
	ModTime     time.Time `json:"modified"`
	ContentType string    `json:"content_type"`
}

// Config says where the objects lie.
type Config struct {
	// Location is a folder, which is made, or s3://bucket/prefix.
	Location string
	S3       source.S3
}

// Open makes the store. For a bucket it asks no server: whether it can be
// written to is found out by the first Put.
func Open(ctx context.Context, cfg Config, log *slog.Logger) (Store, error) {
	if strings.HasPrefix(cfg.Location, "s3://") {
		return openBucket(ctx, cfg)
	}
	if cfg.Location == "" {
		return nil, errors.New("open blob store: blob: it is empty; give a folder or s3://bucket/prefix")
	}
	store, err := openFolder(cfg.Location)
	if err != nil {
		return nil, fmt.Errorf("open blob store: %w", err)
	}
	if n, err := store.tidy(time.Now()); n > 0 || err != nil {
		log.Info("left-over uploads removed from the blob store", slog.Int("files", n), slog.Any("error", err))
	}
	return store, nil
}

func checkList(prefix string, limit int) error {
	if limit < 1 || limit > MaxList {
		return fmt.Errorf("list blobs: %d is not within 1 to %d", limit, MaxList)
	}
	return checkPrefix(prefix)
}
