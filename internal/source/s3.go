package source

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/spillway-media/spillway/internal/media"
)

// Validate joins the faults of the object store's settings.
func (c S3) Validate() error {
	var errs []error
	if (c.AccessKey == "") != (c.SecretKey == "") {
		errs = append(errs, errors.New("s3-access-key, s3-secret-key: one is set without the other"))
	}
	if c.Endpoint != "" {
		u, err := url.Parse(c.Endpoint)
		if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || (u.Scheme != "http" && u.Scheme != "https") {
			errs = append(errs, errors.New("s3-endpoint: is not an address as in https://minio.example.com"))
		}
	}
	return errors.Join(errs...)
}

// Load gives the SDK's settings. It asks no server.
func (c S3) Load(ctx context.Context) (aws.Config, error) {
	options := []func(*awsconfig.LoadOptions) error{awsconfig.WithLogger(logging.Nop{})}
	if c.Region != "" {
		options = append(options, awsconfig.WithRegion(c.Region))
	}
	if c.AccessKey != "" {
		fixed := credentials.NewStaticCredentialsProvider(c.AccessKey, c.SecretKey, "")
		options = append(options, awsconfig.WithCredentialsProvider(fixed))
	}
	loaded, err := awsconfig.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return aws.Config{}, fmt.Errorf("load S3 settings: %w", err)
	}
	if loaded.Region == "" {
		loaded.Region = "us-east-1"
	}
	return loaded, nil
}

// ParseBucket reads s3://bucket/prefix; the prefix has no slash at its ends.
func ParseBucket(location string) (bucket, prefix string, err error) {
	rule, err := parseS3Rule(location)
	return rule.bucket, rule.prefix, err
}

// bucketStore opens objects of S3 and its like.
type bucketStore struct {
	cfg       Config
	client    *s3.Client
	transport *http.Transport
	allow     allowList
	origins   *origins
}

// newBucketStore asks no server. The guard is only for the objects' host:
// the SDK's credential chain has a client of its own, as instance roles are
// given out on a link-local address.
func newBucketStore(ctx context.Context, cfg Config, allow allowList, at *origins) (*bucketStore, error) {
	loaded, err := cfg.S3.Load(ctx)
	if err != nil {
		return nil, err
	}
	guard := Guard{AllowPrivate: cfg.AllowPrivate || cfg.S3.Endpoint != "", Timeout: cfg.ConnectTimeout}
	store := &bucketStore{cfg: cfg, allow: allow, origins: at, transport: newTransport(cfg, guard)}
	store.client = s3.NewFromConfig(loaded, store.configure)
	return store, nil
}

func (b *bucketStore) configure(o *s3.Options) {
	o.HTTPClient = &http.Client{
		Transport: b.transport,
		// A store that redirects is one the operator should name instead.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	o.UsePathStyle = b.cfg.S3.PathStyle
	if b.cfg.S3.Endpoint != "" {
		o.BaseEndpoint = aws.String(b.cfg.S3.Endpoint)
	}
	o.Retryer = retry.NewStandard(func(r *retry.StandardOptions) {
		r.MaxAttempts = b.cfg.Retries + 1
		r.MaxBackoff = maxBackoff
	})
	o.DisableLogOutputChecksumValidationSkipped = true
}

// openRef opens s3://bucket/key, if it is allowed. The key is literal.
func (b *bucketStore) openRef(ctx context.Context, ref string, have Meta) (*Object, error) {
	bucket, key, _ := strings.Cut(ref[len(s3Scheme):], "/")
	if !bucketName.MatchString(bucket) || key == "" {
		return nil, badRef("The source does not name an object as in s3://bucket/key.")
	}
	key, err := cleanKey(key)
	if err != nil {
		return nil, err
	}
	if !b.allow.allowsObject(bucket, key) {
		return nil, media.Errorf(media.CodeSourceForbidden, "The bucket %q, with this key, is not among the allowed sources.", bucket)
	}
	return b.open(ctx, bucket, key, have)
}

func (b *bucketStore) open(ctx context.Context, bucket, key string, have Meta) (*Object, error) {
	t := beginTransfer(ctx, b.cfg, bucket)
	object, err := b.ask(t, bucket, key, have)
	if err != nil {
		t.leave(err)
		t.end()
		return nil, err
	}
	return object, nil
}

// ask gives an object that owns the transfer, or is unchanged and needs none.
func (b *bucketStore) ask(t *transfer, bucket, key string, have Meta) (*Object, error) {
	if err := t.enter(b.origins, s3Scheme+bucket); err != nil {
		return nil, err
	}
	input := &s3.GetObjectInput{Bucket: &bucket, Key: &key}
	if have.Kind == KindS3 && have.ETag != "" {
		input.IfNoneMatch = &have.ETag
	}
	out, err := b.client.GetObject(t.ctx, input)
	if h, ok := notModified(err); ok && input.IfNoneMatch != nil {
		if meta, ok := have.confirmed(h, time.Now(), b.cfg.HonourCacheControl); ok {
			t.leave(nil)
			t.end()
			return &Object{Meta: meta, Unchanged: true}, nil
		}
		// It contradicts itself, so it has to send what it means.
		input.IfNoneMatch = nil
		out, err = b.client.GetObject(t.ctx, input)
	}
	if err != nil {
		return nil, t.fault(storeFault(bucket, key, err, time.Now()))
	}
	t.visit.answered()
	declared := int64(-1)
	if out.ContentLength != nil {
		declared = *out.ContentLength
	}
	body, err := newBody(out.Body, aws.ToString(out.ContentEncoding), declared, t)
	if err != nil {
		return nil, t.fault(err)
	}
	return &Object{Meta: b.meta(bucket, key, out, body), Body: body}, nil
}

func (b *bucketStore) meta(bucket, key string, out *s3.GetObjectOutput, body *body) Meta {
	m := Meta{
		Kind: KindS3, Host: bucket, Name: path.Base(key), Size: body.declared, MaxAge: -1,
		ETag: cleanETag(aws.ToString(out.ETag)), LastModified: aws.ToTime(out.LastModified),
		ContentType: aws.ToString(out.ContentType),
	}
	h := http.Header{}
	if raw, ok := middleware.GetRawResponse(out.ResultMetadata).(*smithyhttp.Response); ok {
		h = raw.Header
	}
	m.Life = lifeOf(h, time.Now())
	if b.cfg.HonourCacheControl {
		m.MaxAge = maxAge(h)
	}
	return m
}

// notModified gives the headers of a store's 304, which the SDK takes for an
// error.
func notModified(err error) (http.Header, bool) {
	var answer *smithyhttp.ResponseError
	if !errors.As(err, &answer) || answer.HTTPStatusCode() != http.StatusNotModified {
		return nil, false
	}
	return answer.HTTPResponse().Header, true
}

// storeFault words an answer of the store; what never reached it is left to
// the transfer. The cause has the store's code and status only: the SDK's text
// quotes URLs.
func storeFault(bucket, key string, err error, now time.Time) error {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return err
	}
	cause, wait := fmt.Errorf("object store answered %s", api.ErrorCode()), time.Duration(0)
	var answer *smithyhttp.ResponseError
	if errors.As(err, &answer) {
		cause = fmt.Errorf("%w: %w", cause, statusError(answer.HTTPStatusCode()))
		wait = retryAfter(answer.HTTPResponse().Header, now)
	}
	switch api.ErrorCode() {
	case "NoSuchKey", "NotFound":
		return media.Wrap(media.CodeSourceNotFound, cause, "There is no object with the key %q.", shorten(key))
	case "NoSuchBucket":
		return media.Wrap(media.CodeSourceNotFound, cause, "There is no bucket %q.", bucket)
	case "AccessDenied", "SignatureDoesNotMatch", "InvalidAccessKeyId", "ExpiredToken", "InvalidToken":
		return media.Wrap(media.CodeSourceFailed, cause, "The object store refused this server access to the bucket %q.", bucket)
	}
	fault := media.Wrap(media.CodeSourceFailed, cause, "The object store failed for the bucket %q.", bucket)
	fault.RetryAfter = min(wait, maxCoolOff)
	return fault
}
