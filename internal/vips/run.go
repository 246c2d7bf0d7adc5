package vips

// #include "bridge.h"
import "C"

import (
	"cmp"
	"context"
	"io"
	"runtime"
	"runtime/cgo"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/progressive"
	"github.com/spillway-media/spillway/internal/sandbox"
	"github.com/spillway-media/spillway/internal/transform"
)

// run is one plan under way. C holds a handle to it, never a pointer, and
// calls back from one thread at a time.
type run struct {
	plan   *media.Plan
	limits media.Limits
	begin  transform.Begin
	job    C.SpwJob
	writer io.Writer // of the output that is being written
	// reorder is that writer where metadata are moved, else nil.
	reorder *progressive.FrameFirst
	err     error // what a callback failed with

	helpers *helpers
	mu      sync.Mutex
	// helper is the process that works for the run at this moment. It is
	// guarded by mu, so that none is killed that works for another already.
	helper *sandbox.Helper
}

// Run carries out a plan in one call into C, on a thread of its own.
//
// When ctx ends, the run ends too: every stage asks before it makes or takes
// pixels, progressive JPEGs and interlaced PNGs ask before they read on, and
// WebP asks while it encodes. Encoders that go on for more than longestStep
// without asking (AVIF, JPEG XL, GIF, TIFF, WebP without loss or with alpha,
// when the picture is large enough) run in a helper process, which is killed.
// What is left are decoders that work through a whole picture in one call: WebP,
// AVIF, HEIC, JPEG XL and JPEG 2000 (one frame), SVG and PDF (one strip); the
// run then ends when that call does. Without Config.Helper, encoders are among
// them.
func (e *Engine) Run(ctx context.Context, src, overlay []byte, plan *media.Plan, begin transform.Begin) error {
	r := &run{plan: plan, limits: plan.Limits(), begin: begin, helpers: e.helpers}
	src, err := r.prepare(src)
	if err != nil {
		return err
	}
	if overlay, err = r.prepareOverlay(ctx, overlay); err != nil {
		return err
	}
	outputs := r.outputs()
	delays := r.delays()
	stage := r.call(ctx, func() C.int {
		return C.spw_run(&r.job, bytesOf(src), C.size_t(len(src)), bytesOf(overlay), C.size_t(len(overlay)),
			unsafe.SliceData(delays), unsafe.SliceData(outputs), C.int(len(outputs)))
	})
	if stage == C.SPW_OK {
		if err := r.endOutput(); err != nil {
			return refused(err)
		}
	}
	return r.outcome(ctx, stage)
}

// call runs f on a thread of its own, with a flag that stops it when ctx ends.
func (r *run) call(ctx context.Context, f func() C.int) C.int {
	handle := cgo.NewHandle(r)
	defer handle.Delete()
	r.job.handle = C.uintptr_t(handle)
	stop := context.AfterFunc(ctx, r.stop)
	defer stop()
	if ctx.Err() != nil {
		return C.SPW_CANCELLED
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// libvips keeps buffers by thread; ours goes back to the runtime's pool.
	defer C.spw_thread_done()
	return f()
}

// stop ends the run from outside, at any time.
func (r *run) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	atomic.StoreInt32(r.cancelled(), 1)
	if r.helper != nil {
		r.helper.Kill()
	}
}

// employ makes helper the one that is killed when the run ends, or none when
// it is nil. It tells whether the run has ended already.
func (r *run) employ(helper *sandbox.Helper) (over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.helper = helper
	return atomic.LoadInt32(r.cancelled()) != 0
}

// cancelled is the flag that C asks.
func (r *run) cancelled() *int32 { return (*int32)(unsafe.Pointer(&r.job.cancelled)) }

// bytesOf is nil for an empty slice, whose pointer may lie outside anything.
func bytesOf(b []byte) unsafe.Pointer {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Pointer(unsafe.SliceData(b))
}

// prepare fills the job from the plan.
func (r *run) prepare(src []byte) ([]byte, error) {
	req := r.plan.Request
	t := wanted(r.plan)
	job := &r.job
	job.turns, job.mirror = C.int(t.quarters), flagOf(t.mirror)
	if crop := r.plan.Crop; crop != nil {
		job.crop = areaOf(upright(r.plan.Info.Orientation).stored(*crop))
	}
	job.trim, job.blur, job.sharpen = C.double(req.Trim), C.double(req.Blur), C.double(req.Sharpen)
	job.grayscale, job.linear = flagOf(req.Grayscale), flagOf(req.Linear)
	if c := req.Background; c != nil {
		job.has_background = 1
		job.background = [4]C.double{C.double(c.R), C.double(c.G), C.double(c.B), C.double(c.A)}
	}
	job.animated = flagOf(r.plan.Load.Frames > 1)
	job.plays = C.int(r.plan.Info.Plays)
	job.later_page = flagOf(r.plan.Load.Page > 0 && !r.plan.Info.Animated)
	job.max_pixels = C.int64_t(r.limits.Pixels)
	var err error
	job.load, src, err = loadOf(r.plan.Info, r.plan.Load, src, r.limits)
	return src, err
}

// loadOf is how C loads a source, and the bytes it is given: those of formats
// that libvips does not read are decoded here.
func loadOf(info media.Info, load media.Load, src []byte, limits media.Limits) (C.SpwLoad, []byte, error) {
	c := C.SpwLoad{
		format: formats[info.Format], page: C.int(load.Page), frames: C.int(load.Frames),
		shrink: C.int(load.Shrink), scale: C.double(load.Scale),
	}
	if info.Progressive && (info.Format == media.JPEG || info.Format == media.PNG) {
		c.whole = 1
	}
	switch info.Format {
	case media.BMP:
		return loadBMP(c, src, info)
	case media.SVG:
		plain, err := media.InflateSVG(src, limits)
		c.scale = C.double(max(load.Scale*svgDensity(plain), smallestScale))
		return c, plain, err
	}
	return c, src, nil
}

// smallestScale is what libvips' SVG loader accepts.
const smallestScale = 0.001

func loadBMP(c C.SpwLoad, src []byte, info media.Info) (C.SpwLoad, []byte, error) {
	pixels, width, height, err := decodeBMP(src, info)
	if err != nil {
		return c, nil, err
	}
	c.format, c.width, c.height = C.SPW_RAW, C.int(width), C.int(height)
	return c, pixels, nil
}

// outputs lists the plan's, largest first.
func (r *run) outputs() []C.SpwOutput {
	list := make([]C.SpwOutput, 0, len(r.plan.Outputs))
	at := make([]int, len(r.plan.Outputs)) // place in the list by index
	for index, output := range r.plan.Outputs {
		if output.Back > 0 {
			of := &list[at[index-output.Back]]
			of.thumb, of.thumb_side = C.int(index), media.ThumbSide
			continue
		}
		at[index] = len(list)
		o := outputOf(index, output)
		if r.helpers.exist() {
			o.apart = C.int64_t(apartFrom(output.Encode, false))
			o.apart_clear = C.int64_t(apartFrom(output.Encode, true))
		}
		list = append(list, o)
	}
	slices.SortStableFunc(list, func(a, b C.SpwOutput) int {
		return cmp.Compare(int64(b.layout.width)*int64(b.layout.height), int64(a.layout.width)*int64(a.layout.height))
	})
	return list
}

func outputOf(index int, output media.Output) C.SpwOutput {
	encode := output.Encode
	return C.SpwOutput{
		index: C.int(index), layout: layoutOf(output.Layout), format: writtenAs(encode.Format),
		quality: C.int(encode.Quality), max_bytes: C.int64_t(encode.MaxBytes), ssim: C.double(encode.SSIM), lossless: flagOf(encode.Lossless),
		effort: C.int(encode.Effort), progressive: flagOf(encode.Progressive), keep: keepOf(encode.Keep),
	}
}

// writtenAs is C's number of an output format.
func writtenAs(format media.Format) C.int {
	if format == media.Raw {
		return C.SPW_RAW
	}
	return formats[format]
}

func layoutOf(l media.Layout) C.SpwLayout {
	return C.SpwLayout{
		width: C.int(l.Width), height: C.int(l.Height),
		crop: rectOf(l.Crop), smart: smartOf(l.Smart), canvas: rectOf(l.Canvas),
	}
}

func smartOf(kind media.GravityKind) C.int {
	switch kind {
	case media.GravityAttention:
		return C.SPW_ATTENTION
	case media.GravityEntropy:
		return C.SPW_ENTROPY
	}
	return C.SPW_PLACED
}

func keepOf(keep media.Keep) C.int {
	var bits C.int
	for bit, wanted := range map[C.int]bool{
		C.SPW_KEEP_EXIF: keep.EXIF, C.SPW_KEEP_XMP: keep.XMP, C.SPW_KEEP_IPTC: keep.IPTC,
		C.SPW_KEEP_ICC: keep.ICC, C.SPW_KEEP_COPYRIGHT: keep.Copyright,
	} {
		if wanted {
			bits |= bit
		}
	}
	return bits
}

func rectOf(r media.Rect) C.SpwRect {
	return C.SpwRect{x: C.int(r.X), y: C.int(r.Y), width: C.int(r.Width), height: C.int(r.Height)}
}

func areaOf(a media.Area) C.SpwArea {
	return C.SpwArea{x: C.double(a.X), y: C.double(a.Y), width: C.double(a.Width), height: C.double(a.Height)}
}

func flagOf(b bool) C.int {
	if b {
		return 1
	}
	return 0
}

// delays are those of the frames that are loaded, one each whatever the file
// says of them.
func (r *run) delays() []C.int {
	delays := make([]C.int, r.plan.Load.Frames)
	for i := range delays {
		if at := r.plan.Load.Page + i; at < len(r.plan.Info.Delays) {
			delays[i] = C.int(r.plan.Info.Delays[at])
		}
	}
	return delays
}
