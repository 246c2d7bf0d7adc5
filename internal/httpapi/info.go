package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sort"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/placeholder"
	"github.com/spillway-media/spillway/internal/transform"
)

// infoDocument is what /info answers.
type infoDocument struct {
	sourceDocument
	Pages       int    `json:"pages"`
	Delays      []int  `json:"delays_ms"`
	Plays       int    `json:"plays"`
	DurationMS  int    `json:"duration_ms"`
	ColourSpace string `json:"colour_space"`
	BitDepth    int    `json:"bit_depth"`
	Bands       int    `json:"bands"`
	Profile     bool   `json:"icc_profile"`
	Progressive bool   `json:"progressive"`
	Dominant    string `json:"dominant_colour"`
	BlurHash    string `json:"blurhash"`
	ThumbHash   string `json:"thumbhash"`
	LQIP        string `json:"lqip"`
}

// answerInfo serves /info?image_url=….
func (s *Server) answerInfo(x *exchange) error {
	values, expires, err := s.readQuery(x)
	if err != nil {
		return err
	}
	ref, err := takeRef(values)
	if err != nil {
		return err
	}
	x.host = refHost(ref)
	if name := firstName(values); name != "" {
		return invalid(name, "%.100q is not a parameter of /info; it takes image_url, expires and signature.", name)
	}
	details, err := s.images.Info(x.r.Context(), ref, asked{header: x.r.Header}.has)
	if err != nil {
		return err
	}
	x.timings = transform.Timings{Fetch: details.Fetch, Wait: details.Wait, Work: details.Work}
	x.worked = true
	h := x.w.Header()
	setValidators(h, quote(details.ETag), details.LastModified)
	h.Set("Cache-Control", s.cacheControl(details.Source, expires, details.Stale))
	h.Set("Cache-Status", cacheStatus(&transform.Result{NotModified: details.NotModified, Stale: details.Stale}))
	h.Set("Server-Timing", serverTiming(x.timings, false))
	if details.NotModified {
		x.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return s.writeInfo(x, details)
}

func (s *Server) writeInfo(x *exchange, details *transform.Details) error {
	document, err := describe(details)
	if err != nil {
		return err
	}
	body, err := json.Marshal(document)
	if err != nil {
		return fmt.Errorf("write info: %w", err)
	}
	x.w.Header().Set("Content-Type", "application/json")
	s.writeDocument(x, http.StatusOK, body)
	return nil
}

func describe(details *transform.Details) (infoDocument, error) {
	info := details.Info
	document := infoDocument{
		sourceDocument: describeSource(info, details.Bytes),
		Pages:          1, Delays: []int{}, Plays: info.Plays,
		ColourSpace: info.Colourspace, BitDepth: info.BitDepth, Bands: info.Bands,
		Profile: info.Profile, Progressive: info.Progressive,
		Dominant: hexColour(details.Summary.Dominant),
	}
	if info.Animated {
		document.Delays = append(document.Delays, info.Delays...)
		for _, delay := range info.Delays {
			document.DurationMS += delay
		}
	} else {
		// The frames of a still source are the pages of a document.
		document.Pages, document.Frames = max(info.Frames, 1), 1
	}
	small, err := placeholder.New(details.Summary.Width, details.Summary.Height, details.Summary.Thumb)
	if err != nil {
		return infoDocument{}, media.Wrap(media.CodeEncodeFailed, err, "The picture could not be described.")
	}
	hints, err := derive(small, media.Placeholders{BlurHash: true, ThumbHash: true, LQIP: true})
	document.BlurHash, document.ThumbHash, document.LQIP = hints.BlurHash, hints.ThumbHash, hints.LQIP
	return document, err
}

func hexColour(c media.Colour) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// firstName is the first of the names in values, empty when there is none.
func firstName(values map[string][]string) string {
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	if len(names) == 0 {
		return ""
	}
	sort.Strings(names)
	return names[0]
}
