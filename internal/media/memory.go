package media

// estimateMemory is the peak of decoded bytes while the plan runs. It is meant
// to be a little high: admission adds these numbers up and must not be
// surprised. Encoded bytes, of the source and of the results, are the spool's.
//
// A plan goes through phases, and only what is held through all of them adds
// up: the decoder, then the picture that several outputs are made from. The
// outputs are made one after the other. TestMemoryEstimatesCoverThePeak of
// internal/vips holds the figures, which are bytes a pixel where nothing else
// is said, against the peaks of processes that carry out one plan each.
func (p *Plan) estimateMemory() int64 {
	const (
		overhead = 3 << 20 // thread buffers, tables, ICC transforms
		spare    = 1.05    // what an allocator cannot give back at once
	)
	held := p.heldBytes()
	base := overhead + p.decoderBytes() + held
	var peak float64
	if held > 0 {
		peak = p.windowBytes(true) // while it is gathered
	}
	for _, output := range p.Outputs {
		peak = max(peak, p.outputBytes(output))
	}
	return int64(spare * (base + peak))
}

// pixelBytes is what one stored pixel takes once it is decoded.
func (i Info) pixelBytes() float64 {
	bands := max(i.Bands, 1)
	switch {
	case i.Format.IsVector() || i.Format == BMP:
		return 4 // decoded to RGBA, whatever is stored
	case i.BitDepth > 16:
		return float64(bands * 4)
	case i.BitDepth > 8:
		return float64(bands * 2)
	}
	return float64(bands)
}

// decoderBytes is what the decoder holds besides the lines it hands over.
func (p *Plan) decoderBytes() float64 {
	full, loaded := area(p.Info.Width, p.Info.Height), area(p.Loaded())
	switch p.Info.Format {
	case JPEG:
		if p.Info.Progressive {
			return full * p.Info.coefficientBytes()
		}
	case PNG:
		if p.Info.Progressive {
			return full * p.Info.pixelBytes()
		}
	case TIFF:
		return full * p.Info.pixelBytes() // one strip may hold it all
	case WebP:
		return p.webpBytes(full, loaded)
	case GIF:
		return full * 4 * 2 // the canvas, and the one before
	case AVIF, HEIC:
		// Planes, and interleaved; more than 8 bits take whole planes in
		// between. Each thread of a decoder has tables.
		const tables = 4 << 20
		if p.Info.BitDepth > 8 {
			return tables + full*p.Info.pixelBytes()*4.4
		}
		return tables + full*p.Info.pixelBytes()*2.5
	case JXL:
		return full * (p.Info.pixelBytes() + 8)
	case JP2:
		return full * float64(max(p.Info.Bands, 1)) * 6 // an int32 a sample, and copies
	}
	return 0
}

func (p *Plan) webpBytes(full, loaded float64) float64 {
	switch {
	case p.Info.Animated:
		// All frames that are loaded, the canvas, and the one before.
		return full * 4 * float64(p.Load.Frames+2)
	case p.Info.Lossless:
		return full*4 + loaded*8
	}
	return loaded * 9.5 // planes, the frame, and the canvas it is laid on
}

// coefficientBytes is what a progressive JPEG holds of each pixel until its
// last scan: two bytes a sample, and half the samples where chroma is small.
func (i Info) coefficientBytes() float64 {
	if i.Subsampled && i.Bands == 3 {
		return 3
	}
	return float64(max(i.Bands, 1)) * 2
}

// heldBytes is the picture that is held whole for all outputs: as loaded to
// trim it, scaled to what several outputs need.
func (p *Plan) heldBytes() float64 {
	frames := float64(p.Load.Frames)
	switch {
	case p.Request.Trim > 0:
		return area(p.Loaded()) * float64(p.samples()) * frames
	case p.several():
		return area(p.shared()) * float64(p.samples()) * frames
	}
	return 0
}

// samples are those of a pixel that steps see, which is of eight bits.
func (p *Plan) samples() int {
	if p.Info.Format.IsVector() || p.Info.Format == BMP {
		return 4
	}
	return max(p.Info.Bands, 1)
}

// windowBytes is what is in hand of a loaded picture that is read line by
// line: those that resize, blur and the line caches look at.
func (p *Plan) windowBytes(resized bool) float64 {
	lines := 400
	if resized {
		lines = 1300
	}
	width, height := p.Loaded()
	if p.Load.Frames > 1 {
		height = min(height, 2*lines) // one frame after the other
	}
	bytes := float64(width) * p.Info.pixelBytes() * float64(min(height, lines))
	if p.Request.Linear || p.Info.Alpha && resized {
		bytes *= 2 // 16 bits a sample, as what is premultiplied has
	}
	return bytes
}

// outputBytes is the peak while one output is made. Where its pixels are
// gathered first the lines of the source are done with before the encoder
// begins, but an allocator does not always give them back in between.
func (p *Plan) outputBytes(output Output) float64 {
	if output.Back > 0 {
		return 0
	}
	return p.windowBytes(!p.keepsSize(output)) + p.madeBytes(output) + p.stepBytes(output) + p.encoderBytes(output)
}

// gathers tells whether an output's pixels are held whole before the encoder
// sees the first: to turn them, to look for a crop, frame by frame, or to
// encode them more than once.
func (p *Plan) gathers(output Output) bool {
	req := p.Request
	turns := p.Info.Orientation > 2 || req.Rotate != 0 || req.Flip
	return turns || output.Layout.Smart != "" || p.Load.Frames > 1 || output.Encode.MaxBytes > 0 || output.Encode.SSIM > 0
}

// madeBytes is what there is of a finished picture before it is encoded.
func (p *Plan) madeBytes(output Output) float64 {
	width, height := output.Layout.Width, output.Layout.Height
	if canvas := output.Layout.Canvas; canvas.Width > 0 {
		width, height = canvas.Width, canvas.Height
	}
	if !p.gathers(output) {
		return area(width, min(height, 512)) * 4
	}
	samples := float64(p.samples())
	if p.mayBeClear(output) || p.Request.Watermark != nil {
		samples = 4
	}
	return area(width, height) * samples * float64(p.Load.Frames)
}

// stepBytes is what the steps between a finished size and the encoder take.
func (p *Plan) stepBytes(output Output) float64 {
	const (
		search  = 3 << 20  // histograms of parts of a picture
		alpha   = 40 << 20 // the same of four channels
		sharpen = 4 << 20
		profile = 2 << 20 // the table that is made of one
	)
	var bytes float64
	if smart := output.Layout.Smart; smart != "" {
		bytes += search + 3*area(output.Layout.Width, output.Layout.Height)
		if smart == GravityEntropy && p.Info.Alpha {
			bytes += alpha
		}
	}
	if p.Request.Sharpen > 0 {
		bytes += sharpen + 400*4*float64(output.Layout.Width)
	}
	if p.Info.Profile || p.Info.Colourspace == "cmyk" {
		bytes += profile
	}
	return bytes
}

// mayBeClear tells whether the encoder may have alpha to write.
func (p *Plan) mayBeClear(output Output) bool {
	if ground := p.Request.Background; ground != nil && ground.A == 255 {
		return false
	}
	return p.Info.Alpha || output.Layout.Canvas.Width > 0
}

// encoderBytes is what an encoder holds, of one frame where there are several.
func (p *Plan) encoderBytes(output Output) float64 {
	const (
		tables     = 3 << 20  // of encoders for films, whatever the size
		histograms = 24 << 20 // of WebP without loss: one for each of 2,600 tiles at most
	)
	e, pixels := output.Encode, area(output.Layout.Final())
	bytes := pixels * (e.bytesPerPixel(p.mayBeClear(output)) + p.sentBytes(output) + e.comparedBytes())
	if e.Format == AVIF || e.Format == JXL {
		bytes += tables
	}
	if e.Format == WebP && e.Lossless {
		bytes += min(60*pixels, histograms)
	}
	if e.MaxBytes > 0 {
		bytes += 3 * pixels // results of the search, which lie in memory
		if p.mayBeClear(output) {
			bytes += 7 * pixels
		}
	}
	return bytes
}

// sentBytes is what a pixel takes on its way to the process that encodes it,
// where its figure for the encoder does not hold a copy anyway.
func (p *Plan) sentBytes(output Output) float64 {
	if format := output.Encode.Format; format == GIF || format == TIFF {
		return 4 * float64(p.Load.Frames)
	}
	return 0
}

// comparedBytes is what a pixel takes while a result is decoded and compared.
func (e Encode) comparedBytes() float64 {
	if e.SSIM > 0 && e.Format.CanLossy() {
		return 8 // decoded, and the luma of both on black and white
	}
	return 0
}

// bytesPerPixel is what the encoder holds of one frame.
func (e Encode) bytesPerPixel(alpha bool) float64 {
	switch e.Format {
	case JPEG:
		switch {
		case !e.Progressive && e.Effort == 0:
			return 0
		case e.Quality < 90: // chroma is halved both ways
			return 3.5
		}
		return 6.5
	case PNG:
		if e.Progressive {
			return 4
		}
	case WebP:
		switch {
		case e.Animated, e.Lossless:
			return 30
		case alpha: // which is written without loss
			return 29
		}
		return 6
	case AVIF:
		switch {
		case e.Effort > 2:
			return 50
		case e.Lossless:
			return 36 // chroma in full
		}
		return 32
	case JXL:
		if e.Effort > 7 {
			return 330
		}
		return 45
	case GIF:
		return 27
	case Raw:
		return 4 // handed on in one piece
	}
	return 0
}
