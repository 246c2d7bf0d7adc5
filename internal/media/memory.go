package media

// estimateMemory is the peak of decoded bytes while the plan runs. It is meant
// to be a little high: admission adds these numbers up and must not be
// surprised. Encoded bytes, of the source and of the results, are the spool's.
//
// The bytes per pixel of encoders were read from their sources and rounded up.
func (p *Plan) estimateMemory() int64 {
	const overhead = 4 << 20 // thread buffers, tables, ICC transforms
	total := float64(overhead) + p.decoderBytes() + p.pictureBytes()
	var encoder float64
	for _, output := range p.Outputs {
		width, height := output.Layout.Final()
		final := float64(width) * float64(height)
		encoder = max(encoder, final*output.Encode.bytesPerPixel(p.mayBeClear(output))+p.sentBytes(output)*final+output.Encode.comparedBytes()*final)
		total += p.madeBytes(output)
	}
	return int64(total + encoder)
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
	full := float64(p.Info.Width) * float64(p.Info.Height)
	width, height := p.Loaded()
	loaded := float64(width) * float64(height)
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
		if p.Info.Animated {
			return full * 4 * 3 // canvas, frame, previous canvas
		}
		return loaded * 8 // the frame, and the canvas it is laid on
	case GIF:
		return full * 4 * 3
	case AVIF, HEIC:
		// Planes, and interleaved; more than 8 bits take whole planes in between.
		if p.Info.BitDepth > 8 {
			return full * p.Info.pixelBytes() * 4.4
		}
		return full * p.Info.pixelBytes() * 2.5
	case JXL:
		return full * (p.Info.pixelBytes() + 16) // float planes
	case JP2:
		return full * float64(max(p.Info.Bands, 1)) * 4 // an int32 a sample
	}
	return 0
}

// coefficientBytes is what a progressive JPEG holds of each pixel until its
// last scan: two bytes a sample, and half the samples where chroma is small.
func (i Info) coefficientBytes() float64 {
	if i.Subsampled && i.Bands == 3 {
		return 3
	}
	return float64(max(i.Bands, 1)) * 2
}

// pictureBytes is the loaded picture: a window of lines, and all of it too when
// steps jump in it. Turning needs a second copy.
func (p *Plan) pictureBytes() float64 {
	const window = 1300 // lines that resize, blur and the line caches look at
	width, height := p.Loaded()
	line := float64(width) * p.Info.pixelBytes()
	lines := line * float64(min(height, window))
	if p.Request.Linear {
		lines *= 2 // 16 bits a sample
	}
	if p.Load.Sequential {
		return lines
	}
	whole := line * float64(height) * float64(p.Load.Frames)
	if p.Request.Rotate != 0 || p.Info.Orientation > 2 {
		whole *= 2
	}
	return lines + whole
}

// madeBytes is a finished picture that is held whole: to derive the others
// from, to look for a crop in, to encode more than once, or frame by frame.
func (p *Plan) madeBytes(output Output) float64 {
	width, height := output.Layout.Width, output.Layout.Height
	if canvas := output.Layout.Canvas; canvas.Width > 0 {
		width, height = canvas.Width, canvas.Height
	}
	held := len(p.Outputs) > 1 || output.Layout.Smart != "" || output.Encode.MaxBytes > 0 || output.Encode.SSIM > 0 || p.Load.Frames > 1
	if !held {
		height = min(height, 512)
	}
	return float64(width) * float64(height) * float64(p.Load.Frames) * 4
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
	if e.SSIM > 0 {
		return 8 // decoded, and the luma of both on black and white
	}
	return 0
}

// mayBeClear tells whether the encoder may have alpha to write.
func (p *Plan) mayBeClear(output Output) bool {
	if ground := p.Request.Background; ground != nil && ground.A == 255 {
		return false
	}
	return p.Info.Alpha || output.Layout.Canvas.Width > 0
}

// bytesPerPixel is what the encoder holds of one frame.
func (e Encode) bytesPerPixel(alpha bool) float64 {
	switch e.Format {
	case JPEG:
		if e.Progressive || e.Effort > 0 {
			return 6
		}
	case PNG:
		if e.Progressive {
			return 4
		}
	case WebP:
		switch {
		case e.Lossless:
			return 26
		case alpha: // which is written without loss
			return 29
		}
		return 10
	case AVIF:
		if e.Lossless {
			return 36 // chroma in full
		}
		return 32
	case JXL:
		return 40
	case GIF:
		return 12
	case Raw:
		return 4 // handed on in one piece
	}
	return 0
}
