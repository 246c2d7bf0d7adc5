package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// object reads one object of a bucket. A step to another place costs a request
// of its own, once something is read there. It belongs to who reads it.
type object struct {
	bucket *bucket
	ctx    context.Context //nolint:containedctx // io.Reader has no parameter for it; it is that of Get
	key    string
	info   Info
	tag    *string // what follows has to be of the same object
	at     int64

	body   io.ReadCloser // nil when none is open
	bodyAt int64
	stop   context.CancelFunc
}

// open asks for what follows from on. The time until the headers is bounded;
// how long the bytes take is the reader's affair.
func (o *object) open(from int64) error {
	ctx, stop := context.WithCancel(o.ctx)
	timer := time.AfterFunc(askTime, stop)
	in := &s3.GetObjectInput{Bucket: &o.bucket.name, Key: o.bucket.at(o.key), IfMatch: o.tag}
	if from > 0 {
		in.Range = aws.String(fmt.Sprintf("bytes=%d-", from))
	}
	out, err := o.bucket.client.GetObject(ctx, in)
	if !timer.Stop() && err == nil {
		err = errors.Join(context.DeadlineExceeded, out.Body.Close())
	}
	if err != nil {
		stop()
		return err
	}
	o.body, o.bodyAt, o.stop = out.Body, from, stop
	if o.tag == nil {
		o.tag = out.ETag
		o.info = Info{Key: o.key, Size: aws.ToInt64(out.ContentLength), ModTime: aws.ToTime(out.LastModified), ContentType: ContentType(o.key)}
	}
	return nil
}

// Read implements io.Reader.
func (o *object) Read(p []byte) (int, error) {
	if o.ctx.Err() != nil {
		return 0, context.Cause(o.ctx) // what has come already would still be read
	}
	if o.at >= o.info.Size {
		return 0, io.EOF
	}
	if o.body == nil || o.bodyAt != o.at {
		if err := errors.Join(o.Close(), o.open(o.at)); err != nil {
			if err = fault("read blob", err); errors.Is(err, ErrExists) {
				err = errors.New("read blob: it was replaced meanwhile")
			}
			return 0, err
		}
	}
	n, err := o.body.Read(p)
	o.at += int64(n)
	o.bodyAt = o.at
	if err == io.EOF && o.at < o.info.Size {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Seek implements io.Seeker.
func (o *object) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += o.at
	case io.SeekEnd:
		offset += o.info.Size
	}
	if offset < 0 {
		return 0, errors.New("seek blob: the place is before its beginning")
	}
	o.at = offset
	return offset, nil
}

// Close implements io.Closer.
func (o *object) Close() error {
	if o.body == nil {
		return nil
	}
	o.stop()
	body := o.body
	o.body = nil
	if err := body.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("close blob: %w", err)
	}
	return nil
}
