package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/spillway-media/spillway/internal/source"
)

// bucket is a store in a bucket of S3 or its like, which has to know
// If-None-Match.
type bucket struct {
	client       *s3.Client
	name, prefix string
	partSize     int64
}

const (
	// askTime bounds a request without a body, and the wait for one's headers;
	// sendTime one with a body of partSize at most.
	askTime, sendTime = time.Minute, 10 * time.Minute
	// partSize is what is sent at once; larger objects go in parts, of which
	// one is in memory at a time. S3 takes 10,000 of them, and none below 5 MiB.
	partSize = 16 << 20
	maxParts = 10_000
)

func openBucket(ctx context.Context, cfg Config) (*bucket, error) {
	name, prefix, err := source.ParseBucket(cfg.Location)
	if err == nil {
		err = cfg.S3.Validate()
	}
	if err != nil {
		return nil, fmt.Errorf("open blob store: %w", err)
	}
	settings, err := cfg.S3.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("open blob store: %w", err)
	}
	client := s3.NewFromConfig(settings, func(o *s3.Options) {
		o.UsePathStyle = cfg.S3.PathStyle
		if cfg.S3.Endpoint != "" {
			o.BaseEndpoint = aws.String(cfg.S3.Endpoint)
		}
		// Many stores beside S3 itself know no checksums at the end of a body.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.DisableLogOutputChecksumValidationSkipped = true
	})
	return &bucket{client: client, name: name, prefix: prefix, partSize: partSize}, nil
}

// at is the key in the bucket.
func (b *bucket) at(key string) *string { return aws.String(path.Join(b.prefix, key)) }

// conflicts is how often a Put is tried when another of the same key goes on.
// The pause for the other to end doubles from firstPause on.
const (
	conflicts  = 6
	firstPause = 100 * time.Millisecond
)

// Put implements Store.
func (b *bucket) Put(ctx context.Context, key string, body io.ReadSeeker, size int64, o PutOptions) (Info, error) {
	if err := CheckKey(key); err != nil {
		return Info{}, err
	}
	begin, err := body.Seek(0, io.SeekCurrent)
	if err != nil {
		return Info{}, fmt.Errorf("put blob: %w", err)
	}
	if err := holds(body, begin, size); err != nil {
		return Info{}, fmt.Errorf("put blob: %w", err)
	}
	put := b.putWhole
	if size > b.partSize {
		put = b.putParts
	}
	for try := range conflicts {
		if err = put(ctx, key, body, size, o); !isConflict(err) || try == conflicts-1 {
			break
		}
		if err := sleep(ctx, firstPause<<try); err != nil {
			return Info{}, fmt.Errorf("put blob: %w", err)
		}
		if _, err := body.Seek(begin, io.SeekStart); err != nil {
			return Info{}, fmt.Errorf("put blob: %w", err)
		}
	}
	if err != nil {
		return Info{}, fault("put blob", err)
	}
	return b.Stat(ctx, key)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// holds checks the length before anything is sent.
func holds(body io.Seeker, begin, size int64) error {
	end, err := body.Seek(0, io.SeekEnd)
	if err == nil && end-begin != size {
		err = fmt.Errorf("body has not the %d bytes that it was said to have", size)
	}
	if err == nil {
		_, err = body.Seek(begin, io.SeekStart)
	}
	return err
}

func (b *bucket) putWhole(ctx context.Context, key string, body io.ReadSeeker, size int64, o PutOptions) error {
	ctx, stop := context.WithTimeout(ctx, sendTime)
	defer stop()
	_, err := b.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &b.name, Key: b.at(key), Body: body, ContentLength: &size,
		ContentType: aws.String(ContentType(key)), IfNoneMatch: o.match(),
	})
	return err
}

// match is the header's value: any object at all is in the way.
func (o PutOptions) match() *string {
	if o.IfNoneMatch {
		return aws.String("*")
	}
	return nil
}

// Get implements Store.
func (b *bucket) Get(ctx context.Context, key string) (io.ReadSeekCloser, Info, error) {
	if err := CheckKey(key); err != nil {
		return nil, Info{}, err
	}
	o := &object{bucket: b, ctx: ctx, key: key}
	if err := o.open(0); err != nil {
		return nil, Info{}, fault("get blob", err)
	}
	return o, o.info, nil
}

// Stat implements Store.
func (b *bucket) Stat(ctx context.Context, key string) (Info, error) {
	if err := CheckKey(key); err != nil {
		return Info{}, err
	}
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	out, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.name, Key: b.at(key)})
	if err != nil {
		return Info{}, fault("look at blob", err)
	}
	return Info{Key: key, Size: aws.ToInt64(out.ContentLength), ModTime: aws.ToTime(out.LastModified), ContentType: ContentType(key)}, nil
}

// Delete implements Store.
func (b *bucket) Delete(ctx context.Context, key string) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	_, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.name, Key: b.at(key)})
	if err = fault("delete blob", err); errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// List implements Store.
func (b *bucket) List(ctx context.Context, prefix, after string, limit int) ([]Info, error) {
	if err := checkList(prefix, limit); err != nil {
		return nil, err
	}
	in := &s3.ListObjectsV2Input{Bucket: &b.name, MaxKeys: aws.Int32(int32(limit))}
	if below := path.Join(b.prefix, prefix); below != "" {
		in.Prefix = aws.String(below + "/")
	}
	if after != "" {
		in.StartAfter = b.at(after)
	}
	var found []Info
	for len(found) < limit {
		out, err := b.page(ctx, in)
		if err != nil {
			return nil, fault("list blobs", err)
		}
		for _, o := range out.Contents {
			key := strings.TrimPrefix(aws.ToString(o.Key), b.prefix+"/")
			if b.prefix == "" {
				key = aws.ToString(o.Key)
			}
			in.StartAfter = o.Key
			if CheckKey(key) == nil && len(found) < limit { // others were put there by somebody else
				found = append(found, Info{Key: key, Size: aws.ToInt64(o.Size), ModTime: aws.ToTime(o.LastModified), ContentType: ContentType(key)})
			}
		}
		if !aws.ToBool(out.IsTruncated) || len(out.Contents) == 0 {
			break
		}
	}
	return found, nil
}

func (b *bucket) page(ctx context.Context, in *s3.ListObjectsV2Input) (*s3.ListObjectsV2Output, error) {
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	return b.client.ListObjectsV2(ctx, in)
}

func isConflict(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && (api.ErrorCode() == "ConditionalRequestConflict" || api.ErrorCode() == "OperationAborted")
}

// fault words an answer of the store by its code alone: the SDK's text quotes
// URLs.
func fault(doing string, err error) error {
	if err == nil {
		return nil
	}
	var api smithy.APIError
	if !errors.As(err, &api) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	switch api.ErrorCode() {
	case "NoSuchKey", "NotFound":
		return ErrNotFound
	case "PreconditionFailed":
		return ErrExists
	}
	return fmt.Errorf("%s: object store answered %s", doing, api.ErrorCode())
}
