package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/transform"
)

// srcsetDocument is what /srcset answers: all that an img element needs.
type srcsetDocument struct {
	Source      sourceDocument       `json:"source"`
	Src         string               `json:"src"`
	Srcset      string               `json:"srcset"`
	Images      []srcsetImage        `json:"images"`
	Placeholder *placeholderDocument `json:"placeholder,omitempty"`
}

type srcsetImage struct {
	URL string `json:"url"`
	imageHead
	Bytes int64 `json:"bytes"`
}

// setWish is a wish for several sizes that travel apart.
type setWish struct {
	*wish
	urls []string // of each size, in the order asked
}

// answerSrcset serves /srcset?image_url=…: the pictures are made now, by one
// decode, so that they are there when the page asks for them.
func (s *Server) answerSrcset(x *exchange) error {
	w, err := s.readSet(x)
	if err != nil {
		return err
	}
	jobs, known := s.setJobs(x, w)
	results, err := s.makeSet(x, jobs)
	if err != nil {
		return err
	}
	defer func() {
		for _, result := range results {
			result.Close()
		}
	}()
	defer func() { x.note(results[0]) }()
	s.setResultHeaders(x, w.wish, worst(results))
	x.w.Header().Set("ETag", "W/"+quote(known.tag))
	if results[0].NotModified {
		x.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	x.format = results[0].Format
	x.w.Header().Set("Content-Type", "application/json")
	if x.r.Method == http.MethodHead {
		x.w.WriteHeader(http.StatusOK)
		return nil
	}
	return s.writeSet(x, w, results)
}

// makeSet does all the work; for HEAD none, since one of the pictures tells the
// headers of all.
func (s *Server) makeSet(x *exchange, jobs []transform.Job) ([]*transform.Result, error) {
	if x.r.Method != http.MethodHead {
		return s.images.DoAll(x.r.Context(), jobs)
	}
	jobs[0].HeadersOnly = true
	result, err := s.images.Do(x.r.Context(), jobs[0])
	return []*transform.Result{result}, err
}

// worst tells of all results what the least lasting of them is.
func worst(results []*transform.Result) *transform.Result {
	of := &transform.Result{
		Source: results[0].Source, LastModified: results[0].LastModified,
		NotModified: results[0].NotModified, CacheHit: true,
	}
	for _, r := range results {
		of.CacheHit = of.CacheHit && r.CacheHit
		of.Reduced = of.Reduced || r.Reduced
		of.Stale = of.Stale || r.Stale
	}
	return of
}

func (s *Server) writeSet(x *exchange, w *setWish, results []*transform.Result) error {
	document := srcsetDocument{Source: describeSource(results[0].Info, results[0].SourceBytes), Src: w.urls[0]}
	for i, address := range w.urls {
		picture, err := describeStored(x, results[i])
		if err != nil {
			return err
		}
		picture.URL = address
		document.Images = append(document.Images, picture)
	}
	document.Srcset = srcset(document.Images)
	if w.request.Placeholders.Any() {
		small, err := makePlaceholder(x.r.Context(), w.request.Placeholders, results[len(w.urls)].Thumb)
		if err != nil {
			return err
		}
		document.Placeholder = &small
	}
	var body bytes.Buffer
	plain := json.NewEncoder(&body)
	plain.SetEscapeHTML(false) // people read and copy these addresses
	if err := plain.Encode(document); err != nil {
		return fmt.Errorf("write srcset: %w", err)
	}
	x.w.Header().Set("Server-Timing", serverTiming(results[0].Timings(), results[0].CacheHit))
	s.writeDocument(x, http.StatusOK, bytes.TrimSpace(body.Bytes()))
	return nil
}

// describeStored waits for a whole picture and tells what it is.
func describeStored(x *exchange, result *transform.Result) (srcsetImage, error) {
	output := result.Outputs[0]
	made, err := output.Ready(x.r.Context())
	if err == nil {
		err = output.Whole(x.r.Context())
	}
	if err != nil {
		return srcsetImage{}, err
	}
	size, _ := output.Size()
	return srcsetImage{imageHead: describeMade(result.Format, made), Bytes: size}, nil
}

// srcset is the attribute. Where nothing is enlarged several sizes may have the
// same width, which may stand in it but once.
func srcset(images []srcsetImage) string {
	var candidates []string
	seen := map[int]bool{}
	for _, picture := range images {
		if !seen[picture.Width] {
			candidates = append(candidates, picture.URL+" "+strconv.Itoa(picture.Width)+"w")
		}
		seen[picture.Width] = true
	}
	return strings.Join(candidates, ", ")
}

// readSet reads the URL of a set. It has the parameters of /resize, but says
// itself how they travel, and needs sizes.
func (s *Server) readSet(x *exchange) (*setWish, error) {
	values, expires, err := s.readQuery(x)
	if err != nil {
		return nil, err
	}
	ref, err := takeRef(values)
	if err != nil {
		return nil, err
	}
	x.host = refHost(ref)
	if s.cfg.PresetsOnly {
		return nil, invalid("sizes", "sizes: this server only takes named presets, so that no URL could ask for one size of a set.")
	}
	if values.Has("encoder") {
		return nil, invalid("encoder", "encoder: not accepted by /srcset, which answers JSON that names the pictures.")
	}
	if err := s.expandPreset(values); err != nil {
		return nil, err
	}
	if !values.Has("sizes") {
		return nil, invalid("sizes", "sizes: missing; give the boxes that the page may choose from, such as 300x0,600x0,1200x0.")
	}
	w := &wish{ref: ref, expires: expires, negotiated: isNegotiated(values)}
	x.setVary(w.negotiated, false)
	values.Set("encoder", string(media.EncodeJSON))
	if !values.Has("placeholders") {
		values.Set("placeholders", "blurhash,thumbhash,lqip,color")
	}
	if w.request, err = s.parse(values); err != nil {
		return nil, err
	}
	preferProgressive(&w.request, x.r, values) // as the pictures will be asked for
	urls, err := s.setURLs(values, ref, expires, w.request.Sizes)
	return &setWish{w, urls}, err
}

// setURLs are the addresses of the single pictures, signed where ours have to
// be: whoever asks here has shown a signature.
func (s *Server) setURLs(values url.Values, ref string, expires time.Time, sizes []media.Size) ([]string, error) {
	values.Del("encoder")
	values.Del("placeholders")
	values.Set("image_url", ref)
	if !expires.IsZero() {
		values.Set("expires", strconv.FormatInt(expires.Unix(), 10))
	}
	urls := make([]string, len(sizes))
	for i, size := range sizes {
		values.Set("sizes", fmt.Sprintf("%dx%d", size.Width, size.Height))
		address := resizePath + "?" + values.Encode()
		if len(s.cfg.Keys) > 0 {
			address = SignURL(s.cfg.Keys[0], address)
		}
		if len(address) > s.cfg.MaxURL {
			return nil, media.Errorf(codeURLTooLong, "The URL of one picture would have %d bytes; at most %d are read.", len(address), s.cfg.MaxURL)
		}
		urls[i] = address
	}
	return urls, nil
}

// setTag is what the answer is known by. It holds lengths of pictures, which
// differ a little by what else was decoded with them, so it is a weak tag.
type setTag struct {
	tag   string
	fresh bool
}

// setJobs asks for each size as /resize will be asked for it, and for a small
// picture that the placeholder comes from. The first job decides for all
// whether the client has the answer already: all are of one source.
func (s *Server) setJobs(x *exchange, w *setWish) ([]transform.Job, *setTag) {
	known := &setTag{}
	job := s.job(x, w.wish)
	job.Thumb, job.HeadersOnly = false, false
	job.Fresh = func(key string, _ time.Time) (string, bool) { return key, known.fresh }
	sizes := job.Request.Sizes
	job.Request.Encoder, job.Request.Placeholders = media.EncodeStream, media.Placeholders{}
	jobs := make([]transform.Job, 0, len(sizes)+1)
	for _, size := range sizes {
		job.Request.Sizes = []media.Size{size}
		jobs = append(jobs, job)
	}
	if w.request.Placeholders.Any() {
		jobs = append(jobs, smallJob(jobs[0]))
	}
	jobs[0].Fresh = func(key string, modified time.Time) (string, bool) {
		// A preset or the current key may have changed since, with the URL as it was.
		told := append([]string{"srcset", key, w.wrapping(), target(x.r)}, w.urls...)
		sum := sha256.Sum256([]byte(strings.Join(told, " ")))
		known.tag = base64.RawURLEncoding.EncodeToString(sum[:16])
		_, known.fresh = asked{header: x.r.Header}.has(known.tag, modified)
		return key, known.fresh
	}
	return jobs, known
}

// smallJob asks for the first picture once more, as small as its placeholder
// where that looks the same: with the small picture beside it, it would be
// another result than the one that the page is going to ask for.
func smallJob(job transform.Job) transform.Job {
	r := job.Request
	if r.Sizes[0] == (media.Size{}) {
		r.Fit = media.Inside // there is no box to fit into yet
	}
	if scales(r) {
		r.Sizes, r.DPR = []media.Size{smallBox(r.Sizes[0])}, 1
	}
	r.MaxBytes, r.SSIM = 0, 0
	r, _ = r.Eased() // nobody gets its bytes
	job.Request, job.Thumb = r, true
	return job
}

// scales tells whether a smaller box gives the same picture, smaller. It does
// not where something is measured in pixels of the result, and where a picture
// that is not enlarged lies in bars.
func scales(r media.Request) bool {
	if r.Blur > 0 || r.Sharpen > 0 || r.Fit == media.Contain && !r.Enlarge {
		return false
	}
	return r.Watermark == nil || r.Watermark.Scale > 0 && r.Watermark.X == 0 && r.Watermark.Y == 0
}

// smallBox is a box of the same shape; the original is taken into the least
// that holds it.
func smallBox(box media.Size) media.Size {
	if box == (media.Size{}) {
		return media.Size{Width: smallSide, Height: smallSide}
	}
	scale := float64(smallSide) / float64(max(box.Width, box.Height))
	side := func(n int) int {
		if n == 0 {
			return 0
		}
		return max(1, int(float64(n)*scale+0.5))
	}
	return media.Size{Width: side(box.Width), Height: side(box.Height)}
}

// smallSide is the longer side of what placeholders are made from, in pixels.
const smallSide = media.ThumbSide
