package media

import "time"

// Cost is how admission orders plans: the CPU time a plan takes, told from the
// header before a pixel is decoded. All constants are nanoseconds on one core
// of an AMD EPYC of 2026 with libvips 8.14, a pixel unless they say otherwise,
// fitted to photographs: BenchmarkEstimate of internal/vips prints how they
// stand to what is measured. Drawings cost less. Another machine is off by one
// factor for all, which leaves the order right.

// heavyCost is where a plan stops being something that others can wait behind.
const heavyCost = 400 * time.Millisecond

// Heavy tells whether the plan belongs to the slow class: an animation, an
// encoder that nothing can stop, or plainly much work.
func (p *Plan) Heavy() bool {
	for _, output := range p.Outputs {
		if output.Encode.Format == AVIF || output.Encode.Format == JXL {
			return true
		}
	}
	return p.Load.Frames > 1 || p.Cost > heavyCost
}

// estimateCost adds up the decode, what all outputs share, and each output.
func (p *Plan) estimateCost() time.Duration {
	const overhead = 0.5e6 // building pipelines
	nanoseconds := overhead + p.decodeCost() + p.sharedCost()
	for _, output := range p.Outputs {
		nanoseconds += p.outputCost(output)
	}
	return time.Duration(nanoseconds)
}

// area is a number of pixels, which may be beyond an int.
func area(width, height int) float64 { return float64(width) * float64(height) }

// usualBytes is what a file has a pixel where its size is not known.
const usualBytes = 0.25

// bytes is the size of the part of the file that is read.
func (p *Plan) bytes() float64 {
	if p.Info.Bytes > 0 {
		return float64(p.Info.Bytes)
	}
	return usualBytes * area(p.Info.Width, p.Info.Height) * float64(max(p.Info.Frames, 1))
}

// read is the share of a still's lines that is decoded: reading in order ends
// with the last line of a crop.
func (p *Plan) read() float64 {
	if p.Crop == nil || !p.Load.Sequential || p.Info.Format.IsVector() {
		return 1
	}
	return min(p.Crop.Y+p.Crop.Height, 1)
}

// decodeCost is what loading takes. Entropy decoding goes by the bytes, all
// else by the pixels that are in the file (full) or handed over (loaded).
func (p *Plan) decodeCost() float64 {
	full, loaded, bytes := area(p.Info.Width, p.Info.Height), area(p.Loaded()), p.bytes()
	samples := full * float64(max(p.Info.Bands, 1))
	switch p.Info.Format {
	case JPEG:
		if p.Info.Progressive { // every scan goes through all coefficients
			return 5*full + 22*bytes + 1.5*loaded*p.read()
		}
		return (1*full + 9*bytes + 1.5*loaded) * p.read()
	case PNG:
		cost := (3*samples + 7*bytes) * p.read()
		if p.Info.Progressive {
			cost *= 1.25
		}
		return cost
	case WebP:
		return p.webpCost(full, loaded, bytes)
	case GIF:
		// A frame is laid on all before it, so they are decoded, too.
		share := float64(p.Load.Page+p.Load.Frames) / float64(max(p.Info.Frames, 1))
		return 9*full*float64(p.Load.Page+p.Load.Frames) + 25*bytes*min(share, 1)
	case AVIF:
		return p.deep(18*full + 80*bytes)
	case HEIC:
		return p.deep(50 * full)
	case JXL:
		return 18*full + 34*bytes
	case JP2:
		return 30*full + 170*bytes
	case SVG:
		return 2e6 + (8+p.Info.FilterWork)*loaded
	case PDF:
		return 20e6 + 30*loaded
	}
	return p.deep(1.3*samples) * p.read()
}

func (p *Plan) webpCost(full, loaded, bytes float64) float64 {
	switch {
	case p.Info.Animated:
		share := float64(p.Load.Page+p.Load.Frames) / float64(max(p.Info.Frames, 1))
		return 12*full*float64(p.Load.Page+p.Load.Frames) + 60*bytes*min(share, 1)
	case p.Info.Lossless:
		return 19*full + 5*loaded
	}
	return 4.5*full + 5*loaded
}

// deep is the cost of a picture of more than eight bits a sample.
func (p *Plan) deep(cost float64) float64 {
	if p.Info.BitDepth > 8 {
		return 2 * cost
	}
	return cost
}

// sharedCost is what the steps before the outputs part take.
func (p *Plan) sharedCost() float64 {
	loaded := area(p.Loaded()) * float64(p.Load.Frames) * p.read()
	var cost float64
	if p.Request.Trim > 0 {
		cost += 1.5 * loaded
	}
	if p.Info.Profile {
		cost += 3e6 // a table is made of it; what is changed is small by then
	}
	if p.Info.Colourspace == "cmyk" {
		cost += 35e6 + 40*loaded
	}
	if p.Info.Alpha {
		cost += 2 * loaded
	}
	if p.several() {
		width, height := p.shared()
		cost += p.resizeCost(loaded, area(width, height)*float64(p.Load.Frames))
	}
	return cost
}

// resizeCost is that of a picture of from pixels made one of to.
func (p *Plan) resizeCost(from, to float64) float64 {
	cost := (4*from + 12*to) * float64(max(p.Info.Bands, 3)) / 3
	if p.Request.Linear {
		cost += 10 * from
	}
	return cost
}

// outputCost is that of scaling, finishing and encoding one output.
func (p *Plan) outputCost(output Output) float64 {
	if output.Back > 0 {
		return 5e5 // that of a small picture hardly depends on the large one
	}
	frames := float64(p.Load.Frames)
	from := area(p.Loaded()) * p.read()
	if p.several() {
		from = area(p.shared())
	}
	made, final := area(output.Layout.Width, output.Layout.Height), area(output.Layout.Final())
	var cost float64
	if !p.keepsSize(output) {
		cost += p.resizeCost(from, made)
	}
	cost += p.stepsCost(output, made, final)
	cost += float64(output.Encode.tries()) * (p.encodeCost(output)*final + output.Encode.overhead())
	return cost * frames
}

// encodeCost is that of one encode, a pixel of a frame.
func (p *Plan) encodeCost(output Output) float64 {
	cost := output.Encode.typical(p.mayBeClear(output))
	switch {
	case p.Info.Format.IsVector():
		return 0.5 * cost // drawings are flat
	case output.Encode.Format != GIF || p.Load.Frames == 1 || !p.keepsSize(output):
		return cost
	case p.Info.Format == GIF:
		return 0.1 * cost // frames that have few colours, and the same
	}
	return 0.4 * cost
}

// overhead is what an encode takes whatever its size, in nanoseconds: an
// encoder of films has more to set up.
func (e Encode) overhead() float64 {
	if e.Format == AVIF {
		return 4e6
	}
	return 0.3e6
}

// stepsCost is that of what is done to a finished size, a frame.
func (p *Plan) stepsCost(output Output, made, final float64) float64 {
	var cost float64
	if output.Layout.Smart != "" {
		cost += 65 * made
	}
	if p.Request.Blur > 0 {
		cost += (10 + 0.8*min(p.Request.Blur, 50)) * final
	}
	if p.Request.Sharpen > 0 {
		cost += 57 * final
	}
	if p.Request.Rotate != 0 || p.Info.Orientation > 1 {
		cost += 10 * made
	}
	if p.Info.Alpha {
		cost += 4 * made
	}
	if p.Info.Profile {
		cost += 8 * final
	}
	return cost
}

// tries is how many encodes the search for a quality is expected to take, what
// decodes there are of them included.
func (e Encode) tries() int {
	switch {
	case e.Lossless && e.Format != JPEG:
		return 1
	case e.MaxBytes > 0:
		return 3
	case e.SSIM > 0:
		return 3
	}
	return 1
}

// typical is what one encode of one frame takes.
func (e Encode) typical(alpha bool) float64 {
	known := encodings[e.Format]
	switch e.Format {
	case JPEG:
		if e.Progressive {
			return 12
		}
	case WebP:
		if e.Lossless {
			return float64(known.exact[e.Effort])
		}
		if alpha { // which is a picture without loss beside the other
			return 1.3 * float64(known.typical[e.Effort])
		}
	case AVIF, JXL:
		if e.Lossless {
			return float64(known.exact[e.Effort])
		}
	}
	return float64(known.typical[e.Effort])
}
