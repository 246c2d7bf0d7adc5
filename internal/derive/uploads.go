package derive

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/spillway-media/spillway/internal/blob"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
)

// uploadFolder is where they lie in the blob store.
const uploadFolder = "uploads"

var uploadID = regexp.MustCompile(`^[0-9a-f]{32}-[0-9a-f]{16}$`)

// uploadKey is where what ref names lies.
func uploadKey(ref string) (string, error) {
	id := strings.TrimPrefix(ref, source.UploadScheme)
	if !uploadID.MatchString(id) {
		return "", errors.New("not the id of an upload")
	}
	return uploadFolder + "/" + id, nil
}

// Uploads are originals that were sent to be the input of jobs. An id cannot be
// guessed, and whoever has it may use the upload until it is swept.
type Uploads struct {
	store blob.Store
	temp  string
}

// NewUploads keeps uploads in store. Until they are whole they lie in the folder
// temp, the system's own when empty.
func NewUploads(store blob.Store, temp string) *Uploads { return &Uploads{store: store, temp: temp} }

// Put stores a body of maxBytes at most. The id goes behind "upload:" in a
// job's input; it holds 128 random bits and the beginning of the content's hash.
// Too large a body is a media.Error with the code source-too-large.
func (u *Uploads) Put(ctx context.Context, body io.Reader, maxBytes int64) (id string, bytes int64, err error) {
	file, err := unnamedFile(u.temp, "spillway-upload-*")
	if err != nil {
		return "", 0, fmt.Errorf("store upload: %w", err)
	}
	defer file.Close() //nolint:errcheck // it has no name, so nothing of it stays
	hash := sha256.New()
	bytes, err = io.Copy(io.MultiWriter(file, hash), io.LimitReader(body, maxBytes+1))
	switch {
	case err != nil:
		return "", 0, fmt.Errorf("store upload: %w", err)
	case bytes == 0:
		return "", 0, media.Errorf(media.CodeInvalidParameter, "The upload is empty.")
	case bytes > maxBytes:
		return "", 0, media.Errorf(media.CodeSourceTooLarge, "The upload has more than %d bytes, which is the limit.", maxBytes)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return "", 0, fmt.Errorf("store upload: %w", err)
	}
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	id = hex.EncodeToString(random[:]) + "-" + hex.EncodeToString(hash.Sum(nil)[:8])
	// Nobody else has the id. A Put that is sent again, because its answer was
	// lost, must not be refused for what it has stored itself.
	if _, err := u.store.Put(ctx, uploadFolder+"/"+id, file, bytes, blob.PutOptions{}); err != nil {
		return "", 0, fmt.Errorf("store upload: %w", err)
	}
	return id, bytes, nil
}

// unnamedFile is a file that is gone whatever happens to this process.
func unnamedFile(dir, pattern string) (*os.File, error) {
	file, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
