package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// putParts sends a large object piece by piece. It appears, or is refused
// because the key is taken, when the last step is done.
func (b *bucket) putParts(ctx context.Context, key string, body io.ReadSeeker, size int64, o PutOptions) error {
	if o.IfNoneMatch {
		if _, err := b.Stat(ctx, key); err == nil {
			return ErrExists // without sending it all first
		}
	}
	begin, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	upload, err := b.client.CreateMultipartUpload(begin, &s3.CreateMultipartUploadInput{
		Bucket: &b.name, Key: b.at(key), ContentType: aws.String(ContentType(key)),
	})
	if err != nil {
		return err
	}
	parts, err := b.sendParts(ctx, key, upload.UploadId, body, size)
	if err == nil {
		err = b.joinParts(ctx, key, upload.UploadId, parts, o)
	}
	if err != nil {
		return errors.Join(err, b.abort(ctx, key, upload.UploadId))
	}
	return nil
}

func (b *bucket) sendParts(ctx context.Context, key string, upload *string, body io.Reader, size int64) ([]types.CompletedPart, error) {
	length := max(b.partSize, (size+maxParts-1)/maxParts)
	piece := make([]byte, min(length, size))
	var parts []types.CompletedPart
	for left := size; left > 0; {
		piece = piece[:min(length, left)]
		if _, err := io.ReadFull(body, piece); err != nil {
			return nil, fmt.Errorf("read body: %w", err)
		}
		left -= int64(len(piece))
		number := int32(len(parts) + 1)
		tag, err := b.sendPart(ctx, key, upload, number, piece)
		if err != nil {
			return nil, err
		}
		parts = append(parts, types.CompletedPart{ETag: tag, PartNumber: &number})
	}
	return parts, nil
}

func (b *bucket) sendPart(ctx context.Context, key string, upload *string, number int32, piece []byte) (tag *string, err error) {
	ctx, stop := context.WithTimeout(ctx, sendTime)
	defer stop()
	out, err := b.client.UploadPart(ctx, &s3.UploadPartInput{
		Bucket: &b.name, Key: b.at(key), UploadId: upload, PartNumber: &number, Body: bytes.NewReader(piece),
	})
	if err != nil {
		return nil, err
	}
	return out.ETag, nil
}

func (b *bucket) joinParts(ctx context.Context, key string, upload *string, parts []types.CompletedPart, o PutOptions) error {
	ctx, stop := context.WithTimeout(ctx, sendTime)
	defer stop()
	_, err := b.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: &b.name, Key: b.at(key), UploadId: upload, IfNoneMatch: o.match(),
		MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
	})
	return err
}

// abort gives the parts back, also when ctx has ended: they cost, and nobody
// sees them.
func (b *bucket) abort(ctx context.Context, key string, upload *string) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer stop()
	_, err := b.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &b.name, Key: b.at(key), UploadId: upload})
	return fault("abort upload", err)
}
