package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
)

// localFiles opens any path the process may read. It serves the user who
// typed the path, never a request: those go through internal/source.
type localFiles struct{}

// Open implements source.Opener.
func (localFiles) Open(_ context.Context, path string) (*source.Object, error) {
	// A pipe would block the open for ever, so the kind is asked first.
	facts, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, media.Errorf(media.CodeSourceNotFound, "There is no file %q.", path)
	}
	if err == nil && !facts.Mode().IsRegular() {
		return nil, media.Errorf(media.CodeSourceForbidden, "%q is not a file.", path)
	}
	var file *os.File
	if err == nil {
		file, err = os.Open(path)
	}
	if err != nil {
		return nil, media.Wrap(media.CodeSourceFailed, err, "%q cannot be read.", path)
	}
	return &source.Object{Meta: localMeta(path, facts), Body: file}, nil
}

func localMeta(path string, facts fs.FileInfo) source.Meta {
	return source.Meta{
		Kind: source.KindFile, Name: filepath.Base(path), Size: facts.Size(),
		ETag:         fmt.Sprintf(`"%x-%x"`, facts.Size(), facts.ModTime().UnixNano()),
		LastModified: facts.ModTime(), MaxAge: -1,
	}
}
