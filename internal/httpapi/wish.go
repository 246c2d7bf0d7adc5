package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
)

// wish is a request for pictures as read from its URL and headers.
type wish struct {
	ref     string
	request media.Request
	// negotiated is true when Accept chooses the format.
	negotiated bool
	// expires is when the signed URL ends; zero is never.
	expires time.Time
}

// wrapping is what tells the tags of JSON answers apart that have the same
// pictures and other placeholders.
func (w *wish) wrapping() (wrapping string) {
	p := w.request.Placeholders
	for _, kind := range []struct {
		wanted bool
		mark   string
	}{{p.BlurHash, "+blurhash"}, {p.ThumbHash, "+thumbhash"}, {p.LQIP, "+lqip"}, {p.Color, "+color"}} {
		if kind.wanted {
			wrapping += kind.mark
		}
	}
	return wrapping
}

// target is the path and query exactly as the client sent them.
func target(r *http.Request) string {
	raw := r.RequestURI
	if raw == "" {
		return r.URL.RequestURI()
	}
	if strings.HasPrefix(raw, "/") {
		return raw
	}
	// The absolute form of a proxy request: the part after the host counts.
	// It is cut exactly where net/url cuts it. A "://" further on may stand
	// in the query, where it would put a signature over other bytes than
	// those that are answered.
	_, rest, _ := strings.Cut(raw, ":")
	authority, found := strings.CutPrefix(rest, "//")
	if !found {
		return rest
	}
	if i := strings.IndexAny(authority, "/?"); i >= 0 {
		return authority[i:]
	}
	return "/"
}

// parseQuery decodes a query once. Unlike a lenient parser it refuses what it
// cannot read, because a dropped parameter would be a wrong picture.
func parseQuery(raw string) (url.Values, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, media.Errorf(media.CodeInvalidParameter,
			"The query holds a broken percent-escape or a bare semicolon; write %% as %%25 and ; as %%3B.")
	}
	return values, nil
}

// invalid is a fault of one parameter. Values are shown with %.100q: a URL
// may have thousands of bytes.
func invalid(param, format string, args ...any) *media.Error {
	return media.Errorf(media.CodeInvalidParameter, format, args...).About(param)
}

// take removes a parameter that may stand at most once.
func take(values url.Values, name string) (value string, present bool, err error) {
	all, present := values[name]
	delete(values, name)
	if len(all) > 1 {
		return "", true, invalid(name, "%s: given %d times; it may be given once.", name, len(all))
	}
	if !present {
		return "", false, nil
	}
	return all[0], true, nil
}

// takeRef removes image_url, which has to be there.
func takeRef(values url.Values) (string, error) {
	ref, present, err := take(values, "image_url")
	if err != nil {
		return "", err
	}
	if !present || ref == "" {
		return "", invalid("image_url", "image_url: missing; give an http(s) URL, s3://bucket/key or the key of a file.")
	}
	return ref, checkRef(ref)
}

// parse reads what is left of a query. A watermark is a reference as well.
func (s *Server) parse(values url.Values) (media.Request, error) {
	request, err := media.Parse(values, s.cfg.Limits)
	if err == nil && request.Watermark != nil {
		err = checkUpload("watermark", request.Watermark.URL)
	}
	return request, err
}

// checkRef refuses control characters, which no source needs and every log
// and header would have to fear.
func checkRef(ref string) error {
	if i := strings.IndexFunc(ref, isControl); i >= 0 {
		return invalid("image_url", "image_url: %.100q holds a control character at byte %d.", ref, i)
	}
	return checkUpload("image_url", ref)
}

// checkUpload keeps uploads to the jobs they were sent for: who asks here has
// shown no token.
func checkUpload(param, ref string) error {
	if strings.HasPrefix(ref, source.UploadScheme) {
		return invalid(param, "%s: an upload can be the input of a job only; give an http(s) URL, s3://bucket/key or the key of a file.", param)
	}
	return nil
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7f }

// assetKey is the key in the path of /assets/{key}, decoded once. It is never
// taken as a URL: those go through image_url.
func assetKey(r *http.Request) (string, error) {
	key := strings.TrimPrefix(r.URL.Path, assetsPrefix)
	for _, scheme := range []string{"http:", "https:", "s3:"} {
		if len(key) >= len(scheme) && strings.EqualFold(key[:len(scheme)], scheme) {
			return "", media.Errorf(media.CodeSourceNotFound, "%.100q is a URL, not the key of a file; use /resize?image_url= for it.", key)
		}
	}
	if key == "" {
		return "", media.Errorf(media.CodeSourceNotFound, "The path ends where the key of a file should stand.")
	}
	return key, checkRef(key)
}

// expandPreset fills values from the preset they name; what is already there wins.
func (s *Server) expandPreset(values url.Values) error {
	name, present, err := take(values, "preset")
	if err != nil {
		return err
	}
	if s.cfg.PresetsOnly {
		if err := onlyPreset(values, present); err != nil {
			return err
		}
	}
	if !present {
		return nil
	}
	preset, known := s.presets[name]
	if !known {
		return invalid("preset", "preset: %.100q is not known; %s.", name, s.knownPresets())
	}
	for key, value := range preset {
		if _, given := values[key]; !given {
			values[key] = slices.Clone(value)
		}
	}
	return nil
}

// onlyPreset holds URLs of a presets-only server to a preset and nothing else.
func onlyPreset(values url.Values, present bool) error {
	if !present {
		return invalid("preset", "preset: missing; this server only takes named presets.")
	}
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil
	}
	sort.Strings(names)
	return invalid(names[0], "%.100q is not accepted; this server only takes image_url, preset, expires and signature.", names[0])
}

func (s *Server) knownPresets() string {
	if len(s.presets) == 0 {
		return "no presets are set up"
	}
	names := make([]string, 0, len(s.presets))
	for name := range s.presets {
		names = append(names, name)
	}
	sort.Strings(names)
	return fmt.Sprintf("the presets are %s", strings.Join(names, ", "))
}

// readWish reads everything a picture's URL and headers say. ref is the key
// of an /assets path, empty where image_url has to name the source.
func (s *Server) readWish(x *exchange, ref string) (*wish, error) {
	values, expires, err := s.readQuery(x)
	if err != nil {
		return nil, err
	}
	if ref == "" {
		if ref, err = takeRef(values); err != nil {
			return nil, err
		}
	} else if values.Has("image_url") {
		return nil, invalid("image_url", "image_url: not accepted here; the path names the source.")
	}
	x.host = refHost(ref)
	if err := s.expandPreset(values); err != nil {
		return nil, err
	}
	w := &wish{ref: ref, expires: expires, negotiated: isNegotiated(values)}
	hinted := s.cfg.ClientHints && !values.Has("sizes")
	x.setVary(w.negotiated, hinted)
	if hinted {
		applyHints(values, x.r.Header, s.cfg.Limits.OutputSide)
	}
	if w.request, err = s.parse(values); err == nil && shapeOf(w.request) == bare {
		preferProgressive(&w.request, x.r, values)
	}
	return w, err
}

// preferProgressive makes JPEG progressive for clients of HTTP/2, where the
// refinement of a picture can wait for what is seen first of the others. Who
// says something about it has it that way.
func preferProgressive(request *media.Request, r *http.Request, values url.Values) {
	if r.ProtoMajor == 2 && !values.Has("progressive") {
		request.ProgressiveJPEG = true
	}
}

// readQuery checks the signature and takes the parameters that only the edge
// knows, image_url and preset excepted.
func (s *Server) readQuery(x *exchange) (url.Values, time.Time, error) {
	if len(s.cfg.Keys) > 0 {
		if err := Verify(s.cfg.Keys, target(x.r), s.cfg.Now()); err != nil {
			return nil, time.Time{}, err
		}
	}
	// What was verified is what is read.
	_, query, _ := strings.Cut(target(x.r), "?")
	values, err := parseQuery(query)
	if err != nil {
		return nil, time.Time{}, err
	}
	delete(values, "signature")
	expires, err := takeExpires(values)
	if len(s.cfg.Keys) == 0 {
		expires = time.Time{} // anybody could have written it
	}
	x.expires = expires
	return values, expires, err
}

func isNegotiated(values url.Values) bool {
	format := values.Get("format")
	return format == "" || format == string(media.Auto)
}

// refHost is the part of a reference that logs and metrics may show: the host
// of a URL or the bucket, never its path or query.
func refHost(ref string) string {
	if !strings.Contains(ref, "://") {
		return ""
	}
	u, err := url.Parse(ref)
	if err != nil {
		return ""
	}
	return u.Host
}
