package httpapi

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/spillway-media/spillway/internal/media"
)

// span is a part of a body, both ends included.
type span struct{ first, last int64 }

// wantsRange tells whether a part of a picture is asked for that could be
// given: with GET, in bytes, in one piece. Whatever else stands there may be
// ignored (RFC 9110, section 14.2).
func wantsRange(r *http.Request) bool {
	_, err := parseRange(r.Header.Get("Range"), 1)
	return r.Method == http.MethodGet && err == nil
}

// parseRange reads the header for a body of that size. A span that begins
// behind its end asks for nothing that is there.
func parseRange(header string, size int64) (span, error) {
	unit, set, _ := strings.Cut(header, "=")
	if !strings.EqualFold(strings.TrimSpace(unit), "bytes") {
		return span{}, fmt.Errorf("read range %.100q: not in bytes", header)
	}
	from, to, found := strings.Cut(strings.TrimSpace(set), "-")
	if !found {
		return span{}, fmt.Errorf("read range %.100q: not one range", header)
	}
	if from == "" {
		n, err := parsePlace(to) // the last n
		return span{max(size-n, 0), size - 1}, err
	}
	first, err := parsePlace(from)
	if err != nil || to == "" {
		return span{first, size - 1}, err
	}
	last, err := parsePlace(to)
	if err == nil && last < first {
		err = fmt.Errorf("read range %.100q: it ends before it begins", header)
	}
	return span{first, min(last, size-1)}, err
}

// parsePlace reads digits and nothing else. So many that no body has as many
// bytes are as good as the most there can be.
func parsePlace(text string) (int64, error) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, fmt.Errorf("read place %.100q: not a number", text)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return math.MaxInt64, nil
	}
	return n, err
}

// stillMeans tells whether a range is meant of the body of that tag. A time
// says nothing here: one source gives many results, all with the same.
func stillMeans(header http.Header, etag string) bool {
	condition := header.Get("If-Range")
	return condition == "" || condition == etag
}

// sendStored answers a picture that is there whole, or the part of it that is
// asked for. format is given where its phases are told; a part has none.
func sendStored(x *exchange, stored io.ReadSeeker, size int64, format media.Format) error {
	h := x.w.Header()
	h.Set("Accept-Ranges", "bytes")
	if !wantsRange(x.r) || !stillMeans(x.r.Header, h.Get("ETag")) {
		h.Set("Content-Length", strconv.FormatInt(size, 10))
		return sendWhole(x, stored, size, format)
	}
	part, err := parseRange(x.r.Header.Get("Range"), size)
	if err != nil || part.first > part.last {
		h.Set("Content-Range", fmt.Sprintf("bytes */%d", size))
		return media.Errorf(codeRange, "The picture has %d bytes; %.100q asks for none of them.", size, x.r.Header.Get("Range"))
	}
	if _, err := stored.Seek(part.first, io.SeekStart); err != nil {
		return fmt.Errorf("seek in a stored picture: %w", err)
	}
	n := part.last - part.first + 1
	h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", part.first, part.last, size))
	h.Set("Content-Length", strconv.FormatInt(n, 10))
	x.w.WriteHeader(http.StatusPartialContent)
	_, err = io.CopyN(x.w, stored, n)
	return err
}

func sendWhole(x *exchange, stored io.ReadSeeker, size int64, format media.Format) error {
	var to io.Writer = x.w
	if format != "" {
		marking, err := newPhasedStored(x.w, format, stored, size)
		if err != nil {
			return err
		}
		to = marking
	}
	_, err := io.Copy(to, stored)
	return err
}
