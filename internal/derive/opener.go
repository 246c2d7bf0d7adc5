package derive

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spillway-media/spillway/internal/blob"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
)

// KindUpload is the kind of an upload beside those of internal/source.
const KindUpload = "upload"

// Opener opens upload:ID in the blob store and gives everything else to next.
// Uploads have the limit of all originals.
func (u *Uploads) Opener(next source.Conditional, maxBytes int64) source.Conditional {
	return &uploadOpener{Conditional: next, store: u.store, maxBytes: maxBytes}
}

type uploadOpener struct {
	source.Conditional
	store    blob.Store
	maxBytes int64
}

// Open implements source.Opener.
func (o *uploadOpener) Open(ctx context.Context, ref string) (*source.Object, error) {
	return o.OpenIf(ctx, ref, source.Meta{})
}

// OpenIf implements source.Conditional. An upload never changes, but it ends.
func (o *uploadOpener) OpenIf(ctx context.Context, ref string, have source.Meta) (*source.Object, error) {
	if !strings.HasPrefix(ref, source.UploadScheme) {
		return o.Conditional.OpenIf(ctx, ref, have)
	}
	key, err := uploadKey(ref)
	if err != nil {
		return nil, media.Errorf(media.CodeInvalidParameter, "%.100q is not the id of an upload.", ref)
	}
	id := strings.TrimPrefix(ref, source.UploadScheme)
	meta := source.Meta{Kind: KindUpload, Name: id, ETag: `"` + id + `"`, MaxAge: -1}
	if have.Kind == KindUpload && have.ETag == meta.ETag {
		info, err := o.store.Stat(ctx, key)
		if err != nil {
			return nil, uploadFault(ctx, err)
		}
		return &source.Object{Meta: about(meta, info), Unchanged: true}, nil
	}
	body, info, err := o.store.Get(ctx, key)
	if err != nil {
		return nil, uploadFault(ctx, err)
	}
	if info.Size > o.maxBytes {
		return nil, errors.Join(media.Errorf(media.CodeSourceTooLarge,
			"The upload has %d bytes; at most %d are allowed.", info.Size, o.maxBytes), body.Close())
	}
	return &source.Object{Meta: about(meta, info), Body: &uploadBody{ReadCloser: body, ctx: ctx, left: info.Size}}, nil
}

func about(meta source.Meta, info blob.Info) source.Meta {
	meta.Size, meta.LastModified, meta.ContentType = info.Size, info.ModTime, info.ContentType
	return meta
}

// uploadFault words an error of the store.
func uploadFault(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return media.Errorf(media.CodeSourceNotFound, "There is no such upload, or none any more.")
	case ctx.Err() != nil:
		return media.Wrap(media.CodeCancelled, context.Cause(ctx), "The request was cancelled while its upload was read.")
	}
	return media.Wrap(media.CodeSourceFailed, err, "The upload could not be read.")
}

// uploadBody ends well only when all bytes came.
type uploadBody struct {
	io.ReadCloser
	ctx  context.Context //nolint:containedctx // io.Reader has no parameter for it; a body lives as long as its request
	left int64
}

// Read implements io.Reader; see source.Opener for its errors.
func (b *uploadBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	switch {
	case err == nil, err == io.EOF && b.left == 0:
		return n, err
	case err == io.EOF:
		return n, media.Errorf(media.CodeSourceFailed, "The upload was cut off while it was read.")
	}
	return n, uploadFault(b.ctx, err)
}
