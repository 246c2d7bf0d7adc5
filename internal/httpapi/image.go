package httpapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/transform"
)

// answerResize serves /resize?image_url=….
func (s *Server) answerResize(x *exchange) error { return s.answerImage(x, "") }

// answerAsset serves /assets/{key}.
func (s *Server) answerAsset(x *exchange) error {
	key, err := assetKey(x.r)
	if err != nil {
		return err
	}
	return s.answerImage(x, key)
}

// answerImage serves the pictures of one source. key is empty where the query
// names the source.
func (s *Server) answerImage(x *exchange, key string) error {
	w, err := s.readWish(x, key)
	if err != nil {
		return err
	}
	result, err := s.images.Do(x.r.Context(), s.job(x, w))
	if err != nil {
		return err
	}
	defer result.Close()
	defer func() { x.note(result) }()
	s.setResultHeaders(x, w, result)
	if result.NotModified {
		x.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	x.format = result.Format
	if x.r.Method == http.MethodHead {
		s.setBodyHeaders(x, w, result)
		setKnownLength(x, w, result)
		x.w.WriteHeader(http.StatusOK)
		return nil
	}
	return s.answerBody(x, w, result)
}

// job is what the transformer is asked.
func (s *Server) job(x *exchange, w *wish) transform.Job {
	return transform.Job{
		Ref:         w.ref,
		Request:     w.request,
		Accept:      media.ParseAccept(strings.Join(x.r.Header.Values("Accept"), ",")),
		HeadersOnly: x.r.Method == http.MethodHead,
		Thumb:       w.request.Placeholders.Any(),
		Fresh:       asked{x.r.Header, w.wrapping()}.has,
	}
}

// setResultHeaders sets what 200 and 304 both carry.
func (s *Server) setResultHeaders(x *exchange, w *wish, result *transform.Result) {
	h := x.w.Header()
	setValidators(h, quote(result.ETag+w.wrapping()), result.LastModified)
	h.Set("Cache-Control", s.cacheControl(result.Source, w.expires, result.Reduced || result.Stale))
	h.Set("Cache-Status", cacheStatus(result))
	h.Set("Server-Timing", serverTiming(result.Timings(), result.CacheHit))
	if result.Reduced {
		h.Set("Spillway-Effort", "reduced")
	}
}

// setBodyHeaders says what the body is; GET and HEAD share it.
func (s *Server) setBodyHeaders(x *exchange, w *wish, result *transform.Result) {
	h := x.w.Header()
	h.Set("Server-Timing", serverTiming(result.Timings(), result.CacheHit))
	switch shapeOf(w.request) {
	case asJSON:
		h.Set("Content-Type", "application/json")
	case asMultipart:
		h.Set("Content-Type", "multipart/mixed; boundary="+boundary(result.ETag))
	default:
		h.Set("Content-Type", result.Format.ContentType())
		h.Set("Content-Disposition", disposition(w.ref, result.Format))
	}
}

// setKnownLength tells a HEAD what GET would send, where that is in the cache.
func setKnownLength(x *exchange, w *wish, result *transform.Result) {
	if shapeOf(w.request) != bare || len(result.Outputs) != 1 {
		return
	}
	if n, complete := result.Outputs[0].Size(); complete {
		x.w.Header().Set("Content-Length", strconv.FormatInt(n, 10))
		x.w.Header().Set("Accept-Ranges", "bytes")
	}
}

// shape is how the pictures of one answer are wrapped.
type shape int

const (
	bare shape = iota
	asMultipart
	asJSON
)

func shapeOf(request media.Request) shape {
	switch {
	case request.Encoder == media.EncodeJSON:
		return asJSON
	case len(request.Sizes) > 1:
		return asMultipart
	}
	return bare
}

// answerBody sends the pictures. The header only goes out once the first
// byte of the first picture is there, so that a failure before it is still a
// clean answer.
func (s *Server) answerBody(x *exchange, w *wish, result *transform.Result) error {
	if len(result.Outputs) == 0 {
		return media.Errorf(media.CodeEncodeFailed, "No picture came out.")
	}
	if err := awaitFor10(x, result); err != nil {
		return err
	}
	if shapeOf(w.request) == bare {
		return s.sendPicture(x, w, result)
	}
	first, err := openPart(x.r.Context(), result.Outputs[0])
	if err != nil {
		return err
	}
	s.setBodyHeaders(x, w, result)
	all := parts(x.r.Context(), first, result.Outputs[1:])
	if shapeOf(w.request) == asJSON {
		return sendJSON(x, w, result, all)
	}
	return sendMultipart(x, w, result, all)
}

// awaitFor10 waits for whole pictures where the client speaks HTTP/1.0, as
// nginx does to what it stands before. There the end of the connection ends a
// body of unknown length, so a picture that fails half way would look whole.
func awaitFor10(x *exchange, result *transform.Result) error {
	if x.r.ProtoAtLeast(1, 1) {
		return nil
	}
	for _, output := range result.Outputs {
		if err := output.Whole(x.r.Context()); err != nil {
			return err
		}
	}
	return nil
}
