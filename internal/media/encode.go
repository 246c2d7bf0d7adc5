package media

import (
	"math"
	"time"
)

// encoding is how a format is written when the request leaves it open.
type encoding struct {
	quality int // at a similar visual loss: 80 of JPEG is near 50 of AVIF
	// Effort 0 to 9 of a request spans low to high of the encoder; usual is
	// its value when none is asked for. AVIF's 1 is speed 8, the slowest that
	// answers while somebody waits.
	low, usual, high int
	// eased is the effort of a server that has more to do than it can: where
	// it stands below usual, it saves much of the time for few more bytes.
	eased int
	// typical is nanoseconds of CPU a pixel by effort, as a photograph takes;
	// exact is that without loss, where the format knows both. They are what
	// Plan.Cost is made of.
	typical, exact []int
	// most is the same for encoders that cannot be stopped once they have
	// begun, rounded up to what any picture takes; without loss it is lossless
	// times as much. Measured with libheif 1.15, aom 3.6 and libjxl 0.7 on one
	// core of 2026.
	most     []int
	lossless int
}

// unstoppable is the longest that such an encoder is meant to work: half the
// usual time limit. It is no setting, because it shapes the bytes, and equal
// requests give equal bytes.
const unstoppable = 7500 * time.Millisecond

var encodings = map[Format]encoding{
	JPEG: {quality: 80, low: 0, usual: 1, eased: 1, high: 1, typical: []int{3, 6}},
	WebP: {
		quality: 80, low: 0, usual: 4, eased: 2, high: 6,
		typical: []int{20, 25, 28, 60, 72, 85, 130},
		exact:   []int{135, 300, 350, 450, 570, 600, 620},
	},
	AVIF: {
		quality: 50, low: 0, usual: 1, eased: 0, high: 9,
		typical: []int{60, 100, 160, 290, 950, 1300, 2600, 4200, 4600, 9500},
		exact:   []int{280, 460, 740, 1300, 4200, 5000, 12000, 20000, 21000, 38000},
		most:    []int{100, 150, 230, 410, 1300, 1600, 3800, 6300, 6800, 12000}, lossless: 4,
	},
	JXL: {
		quality: 75, low: 1, usual: 4, eased: 4, high: 9,
		typical: []int{0, 80, 60, 60, 75, 90, 160, 180, 1300, 2150},
		exact:   []int{0, 350, 400, 500, 720, 800, 900, 1000, 4000, 8000},
		most:    []int{0, 280, 280, 280, 280, 280, 280, 280, 1600, 2400}, lossless: 6,
	},
	PNG: {
		quality: 100, low: 1, usual: 6, eased: 3, high: 9,
		typical: []int{0, 65, 70, 100, 140, 190, 390, 550, 1100, 1300},
	},
	GIF: {
		quality: 100, low: 1, usual: 7, eased: 3, high: 10,
		typical: []int{0, 230, 230, 260, 400, 520, 650, 1000, 1100, 1200, 1200},
	},
	TIFF: {quality: 100, typical: []int{280}},
	Raw:  {quality: 100, typical: []int{0}},
}

// streamedJPEG is the size above which a JPEG gets fixed Huffman tables by
// default: optimised ones hold all coefficients back until the last line is
// there, and a large picture should leave while it is made.
const streamedJPEG = 2_000_000

// A JPEG is progressive without being asked to between these sizes, in pixels.
// Scans and tables of their own are 240 bytes, which is a tenth and more of a
// smaller file; a frame or two hold it whole, so there is nothing to put in
// order. All coefficients of a large one are held, six bytes a pixel at most,
// and it only leaves when the last line is there.
const (
	leastProgressive = 10_000
	mostProgressive  = 25_000_000
)

// roomToProgress is the least max_bytes that leaves room for these scans: what
// they add must not be what makes a picture impossible.
const roomToProgress = 4 << 10

// quickPNG is the size above which a PNG is compressed at level 3 by default.
// Level 6 takes twice the encoding time for 3 % fewer bytes of a photograph or
// a chart 1200 pixels wide; a small picture costs little either way.
const (
	quickPNG      = 500_000
	quickPNGLevel = 3
)

// CanLossy tells whether a lower quality makes files of the format smaller.
func (f Format) CanLossy() bool {
	return f == JPEG || f == WebP || f == AVIF || f == JXL
}

// encode settles every value an encoder needs.
func (p *Plan) encode(layout Layout, format Format) Encode {
	if format == Raw {
		return Encode{Format: Raw, Quality: encodings[Raw].quality, Lossless: true}
	}
	req := p.Request
	result := Encode{
		Format: format, Quality: req.Quality, MaxBytes: req.MaxBytes,
		Lossless:    (req.Lossless && format != JPEG) || !format.CanLossy(),
		Effort:      encodings[format].effort(req.Effort),
		Progressive: req.Progressive, Keep: req.Keep,
		Animated: p.Load.Frames > 1,
	}
	width, height := layout.Final()
	if format == JPEG && req.ProgressiveJPEG && gainsByProgress(width*height, req.MaxBytes) {
		result.Progressive = true
	}
	if !result.Lossless {
		result.SSIM = req.SSIM
	}
	if result.Quality == 0 {
		result.Quality = encodings[format].quality
	}
	result.Effort = encodings[format].affordable(result.Effort, width*height*result.tries(), result.Lossless)
	if req.Effort < 0 {
		result.Effort = quicker(result, width*height)
	}
	return result
}

// gainsByProgress tells whether a JPEG is better off progressive.
func gainsByProgress(pixels, maxBytes int) bool {
	return pixels >= leastProgressive && pixels <= mostProgressive && (maxBytes == 0 || maxBytes >= roomToProgress)
}

// Step is the CPU time a pixel of a frame takes in the longest step of the
// encoder that nothing can stop: between two lines, two calls of its progress
// hook, or from its beginning to its end. It is 0 where steps are short however
// large the picture is. Measured as encoding.most was.
func (e Encode) Step(alpha bool) time.Duration {
	switch e.Format {
	case WebP:
		if e.Lossless || alpha { // which is written without loss
			return 250
		}
		return 4
	case AVIF, JXL:
		known := encodings[e.Format]
		if e.Lossless {
			return time.Duration(known.most[e.Effort] * known.lossless)
		}
		return time.Duration(known.most[e.Effort])
	case GIF, TIFF:
		return 230
	}
	return 0
}

// quicker is the usual effort, lowered for pictures of many pixels.
func quicker(e Encode, pixels int) int {
	switch {
	case e.Format == JPEG && !e.Progressive && pixels > streamedJPEG:
		return 0
	case e.Format == PNG && pixels > quickPNG:
		return min(e.Effort, quickPNGLevel)
	}
	return e.Effort
}

// effort maps a wish of 0 to 9 to the encoder's scale; EffortUsual and
// EffortEased give what they name.
func (e encoding) effort(wish int) int {
	switch wish {
	case EffortUsual:
		return e.usual
	case EffortEased:
		return e.eased
	}
	return e.low + int(math.Round(float64(wish)*float64(e.high-e.low)/9))
}

// affordable lowers an effort until a picture of that many pixels is expected
// to be encoded in time.
func (e encoding) affordable(effort, pixels int, lossless bool) int {
	if len(e.most) == 0 {
		return effort
	}
	factor := 1
	if lossless {
		factor = e.lossless
	}
	for effort > e.low && time.Duration(e.most[effort]*factor*pixels) > unstoppable {
		effort--
	}
	return effort
}
