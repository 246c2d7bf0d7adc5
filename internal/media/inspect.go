package media

// Findings are what the structural check of a source learns besides its
// soundness. They fill gaps of Info that a decoder's header does not tell.
type Findings struct {
	// Width, Height and Frames as far as they were seen; 0 where not. They
	// are of the largest picture in the file, which need not be the one shown.
	Width, Height, Frames int
	// Metadata counts the inflated bytes of compressed profiles and texts.
	Metadata int64
	// Subsampled is true when a JPEG's chroma has half the size both ways.
	Subsampled bool
	// Lossless is true when a WebP's picture is stored without loss.
	Lossless bool
	// FilterWork is the cost of an SVG's filters for each pixel that is
	// rendered, in simple operations.
	FilterWork float64
}

// Complete gives info with what only the findings know.
func (f Findings) Complete(info Info) Info {
	info.Subsampled = info.Subsampled || f.Subsampled
	info.Lossless = info.Lossless || f.Lossless
	info.FilterWork = max(info.FilterWork, f.FilterWork)
	return info
}

// pixels is the area over all frames.
func (f Findings) pixels() float64 {
	return float64(f.Width) * float64(f.Height) * float64(max(f.Frames, 1))
}

// Inspect is Examine for callers that need no findings.
func Inspect(src []byte, format Format, limits Limits) error {
	_, err := Examine(src, format, limits)
	return err
}

// Examine checks the structure of a source before any decoder sees it: what
// would be costly to decode is refused by its limit, what is cut off or
// contradicts itself as CodeDecodeFailed. It decodes no pixel, allocates
// little (only SVG builds a tree, bounded by Limits.SVGNodes), and takes
// microseconds; for large files it is bound by the speed of reading them.
// It errs on the side of letting a file pass: the decoder is the final judge.
func Examine(src []byte, format Format, limits Limits) (Findings, error) {
	if len(src) == 0 {
		return Findings{}, Errorf(CodeUnsupported, "The source is empty.")
	}
	switch format {
	case JPEG:
		return examineJPEG(src, limits)
	case PNG:
		return examinePNG(src, limits)
	case GIF:
		return examineGIF(src, limits)
	case WebP:
		return examineWebP(src, limits)
	case AVIF, HEIC:
		return examineHEIF(src, format, limits)
	case JXL:
		return examineJXL(src, limits)
	case JP2:
		return examineJP2(src, limits)
	case TIFF:
		return examineTIFF(src, limits)
	case BMP:
		return examineBMP(src, limits)
	case SVG:
		return examineSVG(src, limits)
	case PDF:
		return Findings{}, nil // pages are the decoder's and the plan's to judge
	}
	return Findings{}, Errorf(CodeUnsupported, "The source is not a picture that this server reads.")
}

// seen notes a size from a header and holds it against the pixel limit.
func (f *Findings) seen(width, height int, limits Limits) error {
	if float64(width)*float64(height) > float64(f.Width)*float64(f.Height) {
		f.Width, f.Height = width, height
	}
	return checkPixels(width, height, 1, limits.Pixels)
}

// truncated is the fault of a file that ends too early.
func truncated(format Format, at int) *Error {
	return Errorf(CodeDecodeFailed, "The %s file is truncated: it ends early, at byte %d.", format, at)
}

// broken is the fault of a file that contradicts its format.
func broken(format Format, what string) *Error {
	return Errorf(CodeDecodeFailed, "The %s file is damaged: %s.", format, what)
}
