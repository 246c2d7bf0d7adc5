package httpapi

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/spillway-media/spillway/internal/blob"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
)

// uploadDocument is an original that was taken in.
type uploadDocument struct {
	// Input is what a job names it by.
	Input string `json:"input"`
	Bytes int64  `json:"bytes"`
	// ContentType is told by the first bytes, whatever the client called it.
	ContentType string `json:"content_type"`
}

// takeUpload keeps an original that a client sends.
func (a *jobsAPI) takeUpload(x *exchange, _ string) error {
	if _, err := readParameters(x.r); err != nil {
		return err
	}
	if x.r.ContentLength > a.cfg.MaxUpload {
		lastOfConnection(x)
		return media.Errorf(codeUploadTooLarge, "The upload has %d bytes; at most %d are taken.", x.r.ContentLength, a.cfg.MaxUpload)
	}
	body := &arriving{a: a, x: x, r: http.MaxBytesReader(x.w.ResponseWriter, x.r.Body, a.cfg.MaxUpload)}
	id, bytes, err := a.cfg.Uploads.Put(x.r.Context(), body, a.cfg.MaxUpload)
	if body.err != nil {
		return bodyFault(x, body.err, codeUploadTooLarge)
	}
	if err != nil {
		return fileFault(err)
	}
	bodyRead(x)
	kind := "application/octet-stream"
	if format := media.Sniff(body.head); format != "" {
		kind = format.ContentType()
	}
	return a.writeJSON(x, http.StatusCreated, uploadDocument{source.UploadScheme + id, bytes, kind})
}

// arriving is the body of an upload. It may take as long as it likes, but not
// stand still.
type arriving struct {
	a    *jobsAPI
	x    *exchange
	r    io.Reader
	head []byte // the first bytes
	err  error  // of the client's side
}

// headBytes is as much as it takes to tell a format.
const headBytes = 4 << 10

// Read implements io.Reader.
func (b *arriving) Read(p []byte) (int, error) {
	b.a.awaitBody(b.x)
	n, err := b.r.Read(p)
	if room := headBytes - len(b.head); room > 0 {
		b.head = append(b.head, p[:min(n, room)]...)
	}
	if err != nil && err != io.EOF {
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
	if !strings.HasPrefix(key, outputPrefix) || blob.CheckKey(key) != nil {
		return media.Errorf(codeNoOutput, "%.100q is not the key of an output.", key)
	}
	out, info, err := a.cfg.Outputs.Get(x.r.Context(), key)
	if errors.Is(err, blob.ErrNotFound) {
		return media.Wrap(codeNoOutput, err, "There is no output %.100q, or it was removed.", key)
	}
	if err != nil {
		return fileFault(err)
	}
	defer out.Close() //nolint:errcheck // it was only read from
	h := x.w.Header()
	// Keys name what lies under them, so that size and time are tag enough.
	etag, fresh := asked{header: x.r.Header}.has(fmt.Sprintf("%x-%x", info.Size, info.ModTime.UnixNano()), info.ModTime)
	setValidators(h, quote(etag), info.ModTime)
	h.Set("Cache-Control", "private, no-cache")
	if fresh {
		x.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", info.ContentType)
	h.Set("Content-Disposition", outputDisposition(key, info.ContentType))
	if x.r.Method == http.MethodHead {
		h.Set("Accept-Ranges", "bytes")
		h.Set("Content-Length", strconv.FormatInt(info.Size, 10))
		x.w.WriteHeader(http.StatusOK)
		return nil
	}
	return sendStored(x, out, info.Size, "")
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
