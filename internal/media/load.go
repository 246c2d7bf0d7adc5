package media

import "math"

// fineMargin is how much larger than its target a picture that was scaled down
// at load has to be: the scaler of a decoder is a box filter, so the last
// factor of two is left to the better filter of the resize step, and with
// Linear to the right light.
const fineMargin = 2

// margin is the least that a shrink leaves; 0 when there is to be none.
func (s Shrink) margin() int {
	switch s {
	case ShrinkFast:
		return 1
	case ShrinkNone:
		return 0
	}
	return fineMargin
}

// chooseLoad decides the scale at load and whether reading may be sequential.
func (p *Plan) chooseLoad() error {
	need := p.largestScale()
	switch {
	case p.Info.Format.IsVector():
		p.Load.Scale = need
		if err := p.checkRendered(); err != nil {
			return err
		}
	case p.Request.Shrink == ShrinkNone:
	case p.Request.Trim > 0:
		// What is left after trimming is not known yet, nor how far a border
		// that was averaged away would still be found.
	case p.Info.Format == JPEG:
		p.Load.Shrink = p.jpegShrink()
	case p.Info.Format == WebP && !p.Info.Animated:
		p.Load.Scale = webpScale(need * float64(p.Request.Shrink.margin()))
	}
	p.Load.Sequential = p.sequential()
	return nil
}

// largestScale is the largest factor, of both axes and all outputs, from the
// full-size picture to a resize target.
func (p *Plan) largestScale() float64 {
	width, height := p.region()
	var scale float64
	for _, output := range p.Outputs {
		scale = max(scale,
			float64(output.Layout.Width)/width,
			float64(output.Layout.Height)/height)
	}
	return scale
}

// jpegShrink is the largest of the scale-downs that libjpeg does during the
// inverse transform which leaves the margin on both axes of every output.
func (p *Plan) jpegShrink() int {
	width, height := p.region()
	margin := p.Request.Shrink.margin()
	for _, shrink := range []int{8, 4, 2} {
		enough := true
		for _, output := range p.Outputs {
			enough = enough && width >= float64(shrink*margin*output.Layout.Width) &&
				height >= float64(shrink*margin*output.Layout.Height)
		}
		if enough {
			return shrink
		}
	}
	return 1
}

// webpScale leaves out what gains little, which is not worth a second filter.
func webpScale(scale float64) float64 {
	if scale > 0.7 {
		return 1
	}
	return scale
}

// Loaded is the size of one frame as the decoder hands it over, before
// orientation. Decoders may differ from it by a pixel.
func (p *Plan) Loaded() (width, height int) {
	factor := p.Load.Scale / float64(p.Load.Shrink)
	if p.Info.Format.IsVector() {
		width, height := p.Info.exact()
		return rounded(width * factor), rounded(height * factor)
	}
	return rounded(float64(p.Info.Width) * factor), rounded(float64(p.Info.Height) * factor)
}

// checkRendered bounds what a vector is rendered to. It can be far more than
// the result when only a small crop of it is wanted.
func (p *Plan) checkRendered() error {
	width, height := p.Info.exact()
	width, height = math.Ceil(width*p.Load.Scale), math.Ceil(height*p.Load.Scale)
	if area := width * height; area > float64(p.limits.Pixels) {
		return Errorf(CodePixels, "The drawing would have to be rendered at %.0fx%.0f, %.0f pixels in all; %d are allowed.",
			width, height, area, p.limits.Pixels)
	}
	return checkFilterWork(p.Info.FilterWork, width*height)
}

// sequential tells whether every step reads the picture once from top to
// bottom. Turning, upside-down mirroring, trimming and a crop that looks for
// its place do not, nor do several outputs or frames; an interlaced PNG or
// GIF is held whole by its decoder anyway, while a progressive JPEG is handed
// over line by line once its coefficients are there.
func (p *Plan) sequential() bool {
	req := p.Request
	mirroredAtMost := p.Info.Orientation <= 2
	interlaced := p.Info.Progressive && p.Info.Format != JPEG
	return mirroredAtMost && !interlaced && req.Rotate == 0 && !req.Flip && req.Trim == 0 &&
		!p.smart() && p.derived() == 1 && p.Load.Frames == 1
}

// derived is how many outputs are made of the decode, and not of another.
func (p *Plan) derived() (n int) {
	for _, output := range p.Outputs {
		if output.Back == 0 {
			n++
		}
	}
	return n
}

// smart tells whether an output has a crop that depends on the pixels.
func (p *Plan) smart() bool {
	for _, output := range p.Outputs {
		if output.Layout.Smart != "" {
			return true
		}
	}
	return false
}

// several tells whether outputs are made from one picture that is scaled once
// for all of them.
func (p *Plan) several() bool {
	count := 0
	for _, output := range p.Outputs {
		if output.Back == 0 {
			count++
		}
	}
	return count > 1
}

// shared is the size of that picture, upright: the largest output's, or twice
// that where another is nearly as large, and never more than was loaded.
func (p *Plan) shared() (width, height int) {
	for _, output := range p.Outputs {
		width, height = max(width, output.Layout.Width), max(height, output.Layout.Height)
	}
	factor := 1
	for _, output := range p.Outputs {
		w, h := output.Layout.Width, output.Layout.Height
		near := 20*w > 11*width || 20*h > 11*height
		if near && (w != width || h != height) {
			factor = 2
		}
	}
	loadedWidth, loadedHeight := p.loadedRegion()
	return min(width*factor, loadedWidth), min(height*factor, loadedHeight)
}

// loadedRegion is what is loaded of the region that the sizes refer to.
func (p *Plan) loadedRegion() (width, height int) {
	w, h := p.region()
	factor := p.Load.Scale / float64(p.Load.Shrink)
	return rounded(w * factor), rounded(h * factor)
}

// keepsSize tells whether an output is as large as what was loaded of it, so
// that nothing is resized.
func (p *Plan) keepsSize(output Output) bool {
	width, height := p.loadedRegion()
	return output.Layout.Width == width && output.Layout.Height == height && p.Request.Trim == 0
}
