package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"syscall"

	"github.com/spillway-media/spillway/internal/media"
)

// folder opens keys below a root that os.Root keeps them in: neither dots nor
// symbolic links lead out of it, also when they change meanwhile.
type folder struct {
	root     *os.Root
	maxBytes int64
}

func openFolder(dir string, maxBytes int64) (*folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open source root: %w", err)
	}
	return &folder{root: root, maxBytes: maxBytes}, nil
}

// open opens a file unless it is still what have describes.
func (f *folder) open(ctx context.Context, ref string, have Meta) (*Object, error) {
	key, err := cleanKey(ref)
	if err != nil {
		return nil, err
	}
	file, info, err := f.openRegular(key)
	if err != nil {
		return nil, fileFault(key, err)
	}
	if info.Size() > f.maxBytes {
		return nil, errors.Join(media.Errorf(media.CodeSourceTooLarge,
			"The source has %d bytes; at most %d are allowed.", info.Size(), f.maxBytes), file.Close())
	}
	meta := Meta{
		Kind: KindFile, Name: path.Base(key), Size: info.Size(), MaxAge: -1,
		ETag: fileETag(info), LastModified: info.ModTime(),
	}
	if have.Kind == KindFile && have.ETag == meta.ETag {
		// Only its facts were wanted; a failing close changes nothing.
		_ = file.Close()
		return &Object{Meta: meta, Unchanged: true}, nil
	}
	return &Object{Meta: meta, Body: &fileBody{ctx: ctx, file: file, begun: info, left: info.Size()}}, nil
}

// errNotRegular is for folders, pipes, sockets and devices.
var errNotRegular = errors.New("not a regular file")

// openRegular looks before it opens, as opening a device can have effects,
// and again after, as the name may mean something else by then. O_NONBLOCK
// keeps a pipe without a writer from blocking for ever.
func (f *folder) openRegular(key string) (*os.File, fs.FileInfo, error) {
	if info, err := f.root.Stat(key); err != nil || !info.Mode().IsRegular() {
		return nil, nil, errors.Join(err, errNotRegular)
	}
	file, err := f.root.OpenFile(key, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil, errors.Join(err, errNotRegular, file.Close())
	}
	return file, info, nil
}

// fileFault words what kept a key from being opened. A PathError without a
// system error is os.Root's refusal to leave the root.
func fileFault(key string, err error) error {
	var at *fs.PathError
	var system syscall.Errno
	isPath, isSystem := errors.As(err, &at), errors.As(err, &system)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.ELOOP):
		return media.Errorf(media.CodeSourceNotFound, "There is no file with the key %q.", shorten(key))
	case errors.Is(err, fs.ErrPermission):
		return media.Wrap(media.CodeSourceForbidden, system, "The file with the key %q may not be read by this server.", shorten(key))
	case isPath && !isSystem:
		return media.Errorf(media.CodeSourceForbidden, "The key %q leads out of the source root through a link.", shorten(key))
	case errors.Is(err, errNotRegular) && !isPath:
		return media.Errorf(media.CodeSourceNotFound, "The key %q names a folder or a special file, not a regular file.", shorten(key))
	}
	return media.Wrap(media.CodeSourceFailed, system, "The file with the key %q could not be opened.", shorten(key))
}

// fileETag changes when the file is rewritten (time), replaced (inode) or
// cut (size).
func fileETag(info fs.FileInfo) string {
	var inode uint64
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		inode = stat.Ino
	}
	hex := func(n uint64) string { return strconv.FormatUint(n, 16) }
	return `"` + hex(uint64(info.Size())) + "-" + hex(uint64(info.ModTime().UnixNano())) + "-" + hex(inode) + `"`
}

// fileBody reads as many bytes as there were at the beginning and then sees
// to it that the file is still the same.
type fileBody struct {
	ctx   context.Context //nolint:containedctx // io.Reader has no parameter for it; a body lives as long as its request
	file  *os.File
	begun fs.FileInfo
	left  int64
	err   error
}

// Read implements io.Reader; see Opener for its errors.
func (b *fileBody) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if b.ctx.Err() != nil {
		b.err = callerFault(b.ctx)
		return 0, b.err
	}
	if b.left == 0 {
		b.err = b.end()
		return 0, b.err
	}
	n, err := b.file.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	if err == io.EOF {
		b.err = errChanged()
	} else if err != nil {
		b.err = media.Wrap(media.CodeSourceFailed, errors.Unwrap(err), "The source file could not be read.")
	}
	return n, b.err
}

// end is io.EOF when the file did not change while it was read.
func (b *fileBody) end() error {
	now, err := b.file.Stat()
	if err != nil || now.Size() != b.begun.Size() || !now.ModTime().Equal(b.begun.ModTime()) {
		return errChanged()
	}
	return io.EOF
}

func errChanged() error {
	return media.Errorf(media.CodeSourceFailed, "The source file changed while it was read.")
}

// Close implements io.Closer. Closing twice is fine.
func (b *fileBody) Close() error {
	if err := b.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("close source: %w", err)
	}
	return nil
}
