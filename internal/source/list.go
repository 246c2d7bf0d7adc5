package source

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/walk"
)

// MaxList is how many keys one List gives at most. A folder is read as a whole
// for each, so that more of them would make a large one slow.
const MaxList = 10_000

// maxPage is how many keys S3 gives at once.
const maxPage = 1000

// List gives up to limit (1 to MaxList) keys of the root that begin with prefix
// and come after after, in the order of their bytes. Each can be opened, as far
// as the rules go. Errors are *media.Error.
func (r *Router) List(ctx context.Context, prefix, after string, limit int) ([]string, error) {
	if err := CheckPrefix(prefix); err != nil {
		return nil, err
	}
	prefix = strings.TrimPrefix(prefix, "/")
	limit = min(max(limit, 1), MaxList)
	switch {
	case r.folder != nil:
		return r.folder.list(ctx, prefix, after, limit)
	case r.root == nil:
		return nil, media.Errorf(media.CodeSourceForbidden, "This server has no source root, so there is nothing to list; name the inputs one by one.")
	}
	return r.buckets.list(ctx, *r.root, prefix, after, limit)
}

// CheckPrefix accepts the beginning of a key, which may end within a name. It is
// what List refuses without looking. The error is a *media.Error.
func CheckPrefix(prefix string) error {
	prefix = strings.TrimPrefix(prefix, "/")
	whole := prefix + "x"
	if checkKey(whole) != nil || strings.HasSuffix(prefix, "/.") || strings.HasSuffix(prefix, "/..") || prefix == "." || prefix == ".." {
		return media.Errorf(media.CodeSourceForbidden,
			"The prefix %q is refused: it must be names with single slashes between them, none of them '.' or '..'.", shorten(prefix))
	}
	return nil
}

func (f *folder) list(ctx context.Context, prefix, after string, limit int) ([]string, error) {
	files, err := walk.Files(ctx, f.root, walk.Request{Prefix: prefix, After: after, Limit: limit})
	switch {
	case ctx.Err() != nil:
		return nil, callerFault(ctx)
	case err != nil:
		return nil, listFault(prefix, err)
	}
	keys := make([]string, len(files))
	for i, file := range files {
		keys[i] = file.Key
	}
	return keys, nil
}

// listFault words what kept files from being listed, as fileFault does for one.
func listFault(prefix string, err error) error {
	var at *fs.PathError
	var system syscall.Errno
	isPath, isSystem := errors.As(err, &at), errors.As(err, &system)
	switch {
	case isPath && errors.Is(err, fs.ErrPermission):
		return media.Wrap(media.CodeSourceForbidden, system, "Files are below the prefix %q that this server may not read: %q.", shorten(prefix), shorten(at.Path))
	case isPath && !isSystem:
		return media.Errorf(media.CodeSourceForbidden, "The prefix %q leads out of the source root through a link.", shorten(prefix))
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENAMETOOLONG):
		return media.Errorf(media.CodeSourceNotFound, "There is nothing below the prefix %q.", shorten(prefix))
	}
	return media.Wrap(media.CodeSourceFailed, system, "The files below the prefix %q could not be listed.", shorten(prefix))
}

// list asks for one page after the other until it has enough keys that can be
// opened: the store may hold others, which end with a slash.
func (b *bucketStore) list(ctx context.Context, root s3Rule, prefix, after string, limit int) ([]string, error) {
	below := ""
	if root.prefix != "" {
		below = root.prefix + "/"
	}
	in := &s3.ListObjectsV2Input{Bucket: &root.bucket, Prefix: aws.String(below + prefix), MaxKeys: aws.Int32(int32(min(limit, maxPage)))}
	if after != "" {
		in.StartAfter = aws.String(below + after)
	}
	var keys []string
	for {
		out, err := b.page(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, object := range out.Contents {
			in.StartAfter = object.Key
			if key, ok := strings.CutPrefix(aws.ToString(object.Key), below); ok && checkKey(key) == nil && len(keys) < limit {
				keys = append(keys, key)
			}
		}
		if len(keys) == limit || !aws.ToBool(out.IsTruncated) || len(out.Contents) == 0 {
			return keys, nil
		}
	}
}

// page is one question, which takes a place at the store like any other.
func (b *bucketStore) page(ctx context.Context, in *s3.ListObjectsV2Input) (*s3.ListObjectsV2Output, error) {
	t := beginTransfer(ctx, b.cfg, *in.Bucket)
	defer t.end()
	if err := t.enter(b.origins, s3Scheme+*in.Bucket); err != nil {
		return nil, err
	}
	out, err := b.client.ListObjectsV2(t.ctx, in)
	if err != nil {
		err = t.fault(storeFault(*in.Bucket, aws.ToString(in.Prefix), err, time.Now()))
	}
	t.leave(err)
	return out, err
}
