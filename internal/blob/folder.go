package blob

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
	"time"
)

// folder is a store in a folder: the key is the path of the file. What is not
// yet whole lies in the folder tempDir, which no key can name.
type folder struct{ root *os.Root }

const (
	tempDir = ".part"
	// staleAfter is how old a file in tempDir is when its writer is surely gone.
	staleAfter = 24 * time.Hour
)

func openFolder(dir string) (*folder, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	if err := root.Mkdir(tempDir, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, errors.Join(err, root.Close())
	}
	return &folder{root: root}, nil
}

// tidy removes what writers left that died.
func (f *folder) tidy(now time.Time) (removed int, err error) {
	entries, err := fs.ReadDir(f.root.FS(), tempDir)
	if err != nil {
		return 0, fmt.Errorf("look for left-over files: %w", err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || now.Sub(info.ModTime()) < staleAfter {
			continue
		}
		if f.root.Remove(path.Join(tempDir, entry.Name())) == nil {
			removed++
		}
	}
	return removed, nil
}

// Put implements Store. A link, unlike a rename, fails when the name is taken,
// in one step for all processes.
func (f *folder) Put(ctx context.Context, key string, body io.ReadSeeker, size int64, o PutOptions) (Info, error) {
	if err := CheckKey(key); err != nil {
		return Info{}, err
	}
	if o.IfNoneMatch {
		if _, err := f.Stat(ctx, key); err == nil {
			return Info{}, ErrExists // without writing it all first
		}
	}
	part, err := f.write(ctx, body, size)
	if err != nil {
		return Info{}, fmt.Errorf("put blob: %w", err)
	}
	defer f.root.Remove(part) //nolint:errcheck // after a rename it is not there; else tidy comes by
	if err = f.publish(part, key, o); errors.Is(err, fs.ErrExist) && o.IfNoneMatch {
		return Info{}, ErrExists
	} else if err != nil {
		return Info{}, fmt.Errorf("put blob: %w", err)
	}
	return f.Stat(ctx, key)
}

// write makes a durable file of the bytes and gives its name.
func (f *folder) write(ctx context.Context, body io.Reader, size int64) (name string, err error) {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	name = path.Join(tempDir, hex.EncodeToString(random[:]))
	file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return "", err
	}
	err = copyExactly(ctx, file, body, size)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, f.root.Remove(name))
	}
	return name, nil
}

// copyExactly copies size bytes, of which body has neither more nor less.
func copyExactly(ctx context.Context, to io.Writer, body io.Reader, size int64) error {
	n, err := io.Copy(to, io.LimitReader(&whileAlive{ctx, body}, size+1))
	if err == nil && n != size {
		err = fmt.Errorf("body has not the %d bytes that it was said to have", size)
	}
	return err
}

// whileAlive reads until ctx ends.
type whileAlive struct {
	ctx context.Context //nolint:containedctx // io.Reader has no parameter for it; it lives for one copy
	io.Reader
}

func (w *whileAlive) Read(p []byte) (int, error) {
	if w.ctx.Err() != nil {
		return 0, context.Cause(w.ctx)
	}
	return w.Reader.Read(p)
}

// publish gives the file its name. Folders that a Delete finds empty may
// vanish in between, so they are made anew.
func (f *folder) publish(part, key string, o PutOptions) error {
	move := f.root.Rename
	if o.IfNoneMatch {
		move = f.root.Link
	}
	dir := path.Dir(key)
	var err error
	for range 10 {
		if err = f.makeDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err = move(part, key); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return err
	}
	return f.syncDir(dir)
}

// makeDir makes a folder durable before anything lies in it.
func (f *folder) makeDir(dir string) error {
	if _, err := f.root.Stat(dir); err == nil || dir == "." {
		return nil
	}
	if err := f.makeDir(path.Dir(dir)); err != nil {
		return err
	}
	if err := f.root.Mkdir(dir, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return f.syncDir(path.Dir(dir))
}

func (f *folder) syncDir(dir string) error {
	at, err := f.root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(at.Sync(), at.Close())
}

// Get implements Store.
func (f *folder) Get(ctx context.Context, key string) (io.ReadSeekCloser, Info, error) {
	if err := CheckKey(key); err != nil {
		return nil, Info{}, err
	}
	if _, err := f.Stat(ctx, key); err != nil {
		return nil, Info{}, err // before it is opened, which for a folder would succeed
	}
	file, err := f.root.Open(key)
	if err != nil {
		return nil, Info{}, missing(err)
	}
	stat, err := file.Stat()
	if err != nil {
		return nil, Info{}, errors.Join(missing(err), file.Close())
	}
	return &openFile{File: file, ctx: ctx}, infoOf(key, stat), nil
}

// openFile ends when ctx does.
type openFile struct {
	*os.File
	ctx context.Context //nolint:containedctx // io.Reader has no parameter for it; it is that of Get
}

// Read implements io.Reader.
func (f *openFile) Read(p []byte) (int, error) {
	if f.ctx.Err() != nil {
		return 0, context.Cause(f.ctx)
	}
	return f.File.Read(p)
}

// WriteTo keeps a copy from going past Read.
func (f *openFile) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{f})
}

// Stat implements Store.
func (f *folder) Stat(_ context.Context, key string) (Info, error) {
	if err := CheckKey(key); err != nil {
		return Info{}, err
	}
	stat, err := f.root.Stat(key)
	switch {
	case err != nil:
		return Info{}, missing(err)
	case !stat.Mode().IsRegular():
		return Info{}, ErrNotFound
	}
	return infoOf(key, stat), nil
}

func infoOf(key string, stat fs.FileInfo) Info {
	return Info{Key: key, Size: stat.Size(), ModTime: stat.ModTime(), ContentType: ContentType(key)}
}

// missing tells what is not there from what cannot be read.
func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return ErrNotFound
	}
	return fmt.Errorf("look at blob: %w", err)
}

// Delete implements Store, and removes folders that it leaves empty.
func (f *folder) Delete(ctx context.Context, key string) error {
	_, err := f.Stat(ctx, key)
	if err == nil {
		err = f.root.Remove(key)
	}
	if errors.Is(err, ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete blob: %w", err)
	}
	f.removeEmpty(path.Dir(key))
	return nil
}

// removeEmpty removes a folder and those above it as far as nothing lies in them.
func (f *folder) removeEmpty(dir string) {
	for dir != "." && f.root.Remove(dir) == nil {
		dir = path.Dir(dir)
	}
}
