package media

import "time"

// Cost is how admission orders plans: what a plan takes of a core, known
// before a pixel is decoded. All constants are nanoseconds of CPU on one core
// of the machine they were measured on (see BenchmarkCost of internal/vips); on
// another machine all are off by the same factor, so the order stays right.

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
	const overhead = 1e6 // building pipelines, threads, profiles
	nanoseconds := overhead + p.decodeCost() + p.sharedCost()
	for _, output := range p.Outputs {
		nanoseconds += p.outputCost(output)
	}
	return time.Duration(nanoseconds)
}

// decodeCost is that of all frames that are loaded.
func (p *Plan) decodeCost() float64 {
	width, height := p.Loaded()
	loaded := float64(width) * float64(height)
	full := float64(p.Info.Width) * float64(p.Info.Height)
	frames := float64(p.Load.Frames)
	depth := 1.0
	if p.Info.BitDepth > 8 {
		depth = 1.6
	}
	switch p.Info.Format {
	case JPEG:
		if p.Info.Progressive {
			return 13*full + 6*loaded
		}
		return 4*full + 6*loaded
	case PNG:
		return 6 * full * float64(max(p.Info.Bands, 1)) / 3 * depth
	case WebP:
		return frames * (8*full + 6*loaded)
	case GIF:
		// A later frame is laid on all before it.
		return float64(p.Load.Page+p.Load.Frames) * 8 * full
	case AVIF, HEIC:
		return 25 * full * depth
	case JXL:
		return 60 * full
	case JP2:
		return 150 * full
	case SVG, PDF:
		return (60 + p.Info.FilterWork) * loaded
	}
	return 4 * full * depth
}

// sharedCost is what the steps before the outputs part take.
func (p *Plan) sharedCost() float64 {
	width, height := p.Loaded()
	loaded := float64(width) * float64(height) * float64(p.Load.Frames)
	var cost float64
	if p.Request.Trim > 0 {
		cost += 6 * loaded
	}
	if p.Info.Profile {
		cost += 4 * loaded
	}
	if p.Info.Alpha {
		cost += 6 * loaded
	}
	return cost
}

// outputCost is that of scaling, finishing and encoding one output.
func (p *Plan) outputCost(output Output) float64 {
	if output.Back > 0 {
		return 5e5 // that of a small picture hardly depends on the large one
	}
	width, height := p.Loaded()
	loaded := float64(width) * float64(height)
	made := float64(output.Layout.Width) * float64(output.Layout.Height)
	finalWidth, finalHeight := output.Layout.Final()
	final := float64(finalWidth) * float64(finalHeight)
	cost := 3*loaded + 10*made
	if p.Request.Linear {
		cost += 10 * loaded
	}
	if output.Layout.Smart != "" {
		cost += 30 * made
	}
	if p.Request.Blur > 0 {
		cost += (20 + 6*p.Request.Blur) * final
	}
	if p.Request.Sharpen > 0 {
		cost += 60 * final
	}
	if p.Request.Rotate != 0 || p.Info.Orientation > 1 {
		cost += 4 * made
	}
	encode := output.Encode.pixelCost(p.mayBeClear(output)) * final * float64(output.Encode.tries())
	return (cost + encode) * float64(p.Load.Frames)
}

// tries is how many encodes the search for a quality is expected to take, what
// decodes there are of them included.
func (e Encode) tries() int {
	switch {
	case e.Lossless && e.Format != JPEG:
		return 1
	case e.MaxBytes > 0:
		return 4
	case e.SSIM > 0:
		return 3
	}
	return 1
}

// pixelCost is that of one encode of one frame, a pixel.
func (e Encode) pixelCost(alpha bool) float64 {
	known := encodings[e.Format]
	switch e.Format {
	case JPEG:
		if e.Progressive {
			return 25
		}
		return 8 + 4*float64(e.Effort)
	case WebP:
		if e.Lossless || alpha {
			return 250
		}
		return []float64{35, 45, 70, 110, 130, 160, 250}[e.Effort]
	case PNG:
		return 40 + 12*float64(e.Effort)
	case GIF:
		return 60 + 25*float64(e.Effort)
	case AVIF, JXL:
		cost := float64(known.cost[e.Effort])
		if e.Lossless {
			cost *= float64(known.lossless)
		}
		return cost
	}
	return 30
}
