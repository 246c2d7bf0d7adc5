package derive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/spillway-media/spillway/internal/blob"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/transform"
)

// Picture is one original and what is to be made of it.
type Picture struct {
	Ref string
	// Outputs has a request of one size and one format for each.
	Outputs []media.Request
}

// jobs are the same for the transform service. They are one call of DoAll, so
// that one fetch, and where their steps agree one decode, serve them all.
func (p Picture) jobs() []transform.Job {
	all := make([]transform.Job, len(p.Outputs))
	for i, request := range p.Outputs {
		all[i] = transform.Job{Ref: p.Ref, Request: request, Background: true}
	}
	return all
}

// Output is one picture that was made.
type Output struct {
	Key string `json:"key,omitempty"` // in the blob store; empty for into=cache
	// Size is the box that was asked for, as in sizes.
	Size        string `json:"size"`
	Format      string `json:"format"`
	Width       int    `json:"width,omitempty"` // 0 where only the image server knows
	Height      int    `json:"height,omitempty"`
	Frames      int    `json:"frames,omitempty"` // of an animation
	Bytes       int64  `json:"bytes"`
	SHA256      string `json:"sha256,omitempty"`
	ContentType string `json:"content_type"`
}

// Original is what the pictures were made of.
type Original struct {
	Format string `json:"format"`
	Width  int    `json:"width"` // as it is shown
	Height int    `json:"height"`
	Frames int    `json:"frames,omitempty"`
	Bytes  int64  `json:"bytes"`
}

// maker makes pictures and puts them into the blob store below folder.
type maker struct {
	images Images
	blobs  blob.Store // fenced
	folder string
}

// make makes all outputs of one picture; stored is told of each. Where two have
// the same bytes they have the same key.
func (m maker) make(ctx context.Context, p Picture, stored func(n int)) ([]Output, Original, error) {
	results, err := m.images.DoAll(ctx, p.jobs())
	if err != nil {
		return nil, Original{}, err
	}
	defer func() {
		for _, result := range results {
			result.Close()
		}
	}()
	outputs := make([]Output, len(results))
	for i, result := range results {
		if outputs[i], err = m.store(ctx, p.Outputs[i], result); err != nil {
			return nil, Original{}, err
		}
		result.Close() // its bytes make room for those that are not done yet
		stored(i + 1)
	}
	return outputs, describeOriginal(results[0]), nil
}

func describeOriginal(result *transform.Result) Original {
	info := result.Info
	o := Original{Format: string(info.Format), Bytes: result.SourceBytes}
	o.Width, o.Height = info.Upright()
	if info.Frames > 1 {
		o.Frames = info.Frames
	}
	return o
}

// describe waits for a whole picture and tells what it is.
func describe(ctx context.Context, asked media.Request, result *transform.Result) (Output, error) {
	made, err := result.Outputs[0].Ready(ctx)
	if err == nil {
		err = result.Outputs[0].Whole(ctx)
	}
	if err != nil {
		return Output{}, err
	}
	bytes, _ := result.Outputs[0].Size()
	o := Output{
		Size:   boxOf(asked),
		Format: string(result.Format), Width: made.Width, Height: made.Height, Bytes: bytes,
		ContentType: result.Format.ContentType(),
	}
	if made.Frames > 1 {
		o.Frames = made.Frames
	}
	return o, nil
}

func (m maker) store(ctx context.Context, asked media.Request, result *transform.Result) (Output, error) {
	o, err := describe(ctx, asked, result)
	if err != nil {
		return o, err
	}
	body, ok := result.Outputs[0].Stored()
	if !ok {
		return o, errors.New("read picture: its bytes are not to be had")
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, body); err != nil {
		return o, fmt.Errorf("read picture: %w", err)
	}
	o.SHA256 = hex.EncodeToString(hash.Sum(nil))
	o.Key = fmt.Sprintf("%s/%s-%dx%d.%s", m.folder, o.SHA256[:32], o.Width, o.Height, result.Format.Extension())
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return o, fmt.Errorf("read picture: %w", err)
	}
	return o, m.put(ctx, o.Key, body, o.Bytes)
}

// errStore marks what the blob store was at fault for.
var errStore = errors.New("blob store failed")

// put adopts what is there already: the key names the bytes, and another
// attempt, or another worker, has written them.
func (m maker) put(ctx context.Context, key string, body io.ReadSeeker, size int64) error {
	_, err := m.blobs.Put(ctx, key, body, size, blob.PutOptions{IfNoneMatch: true})
	if errors.Is(err, blob.ErrExists) {
		var there blob.Info
		if there, err = m.blobs.Stat(ctx, key); err == nil && there.Size != size {
			err = fmt.Errorf("%s has %d bytes, not the %d that its name stands for", key, there.Size, size)
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errStore, err)
	}
	return nil
}
