package httpapi

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/spillway-media/spillway/internal/media"
)

// takeUpload keeps an original that a client sends.
func (a *jobsAPI) takeUpload(x *exchange, _ string) error {
	if _, err := readParameters(x.r); err != nil {
		return err
	}
	if x.r.ContentLength > a.cfg.MaxUpload {
		x.w.Header().Set("Connection", "close")
		return media.Errorf(codeUploadTooLarge, "The upload has %d bytes; at most %d are taken.", x.r.ContentLength, a.cfg.MaxUpload)
	}
	body := &arriving{a: a, x: x, r: http.MaxBytesReader(x.w.ResponseWriter, x.r.Body, a.cfg.MaxUpload)}
	upload, err := a.cfg.Uploads.Save(x.r.Context(), body)
	if body.err != nil {
		return bodyFault(x, body.err, codeUploadTooLarge)
	}
	if err != nil {
		return fileFault(err)
	}
	bodyRead(x)
	return a.writeJSON(x, http.StatusCreated, upload)
}

// arriving is the body of an upload. It may take as long as it likes, but not
// stand still.
type arriving struct {
	a   *jobsAPI
	x   *exchange
	r   io.Reader
	err error // of the client's side
}

// Read implements io.Reader.
func (b *arriving) Read(p []byte) (int, error) {
	b.a.awaitBody(b.x)
	n, err := b.r.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // a Reader gives io.EOF itself
		b.err = err
	}
	return n, err
}

// fileFault is for uploads and outputs: what is not worded yet is the blob
// store's fault.
func fileFault(err error) error {
	if fault, ok := errors.AsType[*media.Error](err); ok {
		return fault
	}
	return &media.Error{Code: codeStore, Detail: "The store of files does not answer.", RetryAfter: storePause, Cause: err}
}

// outputPrefix is what all keys begin with that are shown.
const outputPrefix = "jobs/"

// sendOutput answers a file that a job has made, or a part of it.
func (a *jobsAPI) sendOutput(x *exchange, key string) error {
	if _, err := readParameters(x.r); err != nil {
		return err
	}
	if !outputKey(key) {
		return media.Errorf(codeNoOutput, "%.100q is not the key of an output.", key)
	}
	out, err := a.cfg.Outputs.Open(x.r.Context(), key)
	if errors.Is(err, ErrNoOutput) {
		return media.Wrap(codeNoOutput, err, "There is no output %.100q, or it was removed.", key)
	}
	if err != nil {
		return fileFault(err)
	}
	defer out.Close() //nolint:errcheck // it was only read from
	h := x.w.Header()
	setValidators(h, out.ETag, out.Modified)
	h.Set("Cache-Control", "private, no-cache")
	if out.ETag != "" && x.r.Header.Get("If-None-Match") == out.ETag {
		x.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", contentType(out.ContentType))
	h.Set("Content-Disposition", outputDisposition(key, out.ContentType))
	if x.r.Method == http.MethodHead {
		h.Set("Accept-Ranges", "bytes")
		h.Set("Content-Length", strconv.FormatInt(out.Bytes, 10))
		x.w.WriteHeader(http.StatusOK)
		return nil
	}
	return sendStored(x, out, out.Bytes)
}

// outputKey takes keys below jobs/ that mean what they say to every store.
func outputKey(key string) bool {
	return len(key) <= 1024 && strings.HasPrefix(key, outputPrefix) && path.Clean(key) == key &&
		!strings.Contains(key, "\\") && plainText(key)
}

func contentType(kind string) string {
	if kind == "" {
		return "application/octet-stream"
	}
	return kind
}

// outputDisposition has browsers save what could run in them.
func outputDisposition(key, kind string) string {
	value := "inline"
	bare, _, err := mime.ParseMediaType(kind)
	if err != nil || strings.Contains(bare, "xml") || strings.Contains(bare, "html") || strings.Contains(bare, "script") {
		value = "attachment"
	}
	return mime.FormatMediaType(value, map[string]string{"filename": path.Base(key)})
}
