package media

// NewPlan decides how req is carried out for a source: what is loaded, at
// which scale, and the geometry and encoding of each output. It refuses what
// exceeds limits, each with its own code, before a pixel is decoded.
//
// format is what Negotiate chose. NewPlan gives CodeUnwritable when can says
// that the engine cannot write it.
func NewPlan(info Info, req Request, format Format, can Abilities, limits Limits) (*Plan, error) {
	if err := checkAbility(info.Format, format, can); err != nil {
		return nil, err
	}
	if err := checkSource(info, req, limits); err != nil {
		return nil, err
	}
	if info.Format.IsVector() {
		req.Enlarge = true
	}
	plan := &Plan{Info: info, Request: req, limits: limits}
	plan.Load = Load{Page: req.Page - 1, Frames: framesWanted(info, req, format), Shrink: 1, Scale: 1}
	if err := checkFrames(info, plan.Load.Frames, limits); err != nil {
		return nil, err
	}
	area, err := cropArea(info, req.Crop)
	if err != nil {
		return nil, err
	}
	plan.Crop = area
	if err := plan.addOutputs(format); err != nil {
		return nil, err
	}
	if err := plan.chooseLoad(); err != nil {
		return nil, err
	}
	plan.Memory = plan.estimateMemory()
	plan.Cost = plan.estimateCost()
	return plan, nil
}

func checkAbility(in, out Format, can Abilities) error {
	if !can.Read[in] {
		return Errorf(CodeUnsupported, "This server does not read %s pictures.", in)
	}
	if out == Raw {
		return nil // takes no encoder
	}
	if !out.IsOutput() || !can.Write[out] {
		return Errorf(CodeUnwritable, "format: this server cannot write %s.", out).About("format")
	}
	return nil
}

// checkSource holds the header against the limits that no request can lower.
func checkSource(info Info, req Request, limits Limits) error {
	if info.Width < 1 || info.Height < 1 {
		return Errorf(CodeDecodeFailed, "The picture has no pixels: it is %dx%d.", info.Width, info.Height)
	}
	if req.Page > limits.Page {
		return Errorf(CodePage, "page: %d is above %d, the highest that may be asked for.", req.Page, limits.Page).About("page")
	}
	if req.Page > max(info.Frames, 1) {
		return Errorf(CodePage, "page: %d was asked for, but the source has %d.", req.Page, max(info.Frames, 1)).About("page")
	}
	if side := max(info.Width, info.Height); info.Format == PDF && side > largestPage {
		return Errorf(CodePage, "The page is %dx%d pixels at 96 to the inch; a side may have %d.", info.Width, info.Height, largestPage)
	}
	return nil
}

// largestPage is 200 inches, the largest page of a PDF (ISO 32000-1, annex C),
// in CSS pixels. A renderer works through larger ones for minutes, and holds
// gigabytes, however small the result is to be.
const largestPage = 200 * 96

// framesWanted is how many frames are loaded: one, unless an animation is
// asked for in a format that carries it.
func framesWanted(info Info, req Request, format Format) int {
	if !info.Animated || !format.CanAnimate() {
		return 1
	}
	frames := info.Frames - (req.Page - 1)
	if req.Frames > 0 {
		frames = min(frames, req.Frames)
	}
	return max(frames, 1)
}

// checkFrames bounds the frames loaded, and the pixels in them. Vectors have
// no pixels yet: what is rendered of them is checked in chooseLoad.
func checkFrames(info Info, frames int, limits Limits) error {
	if frames > limits.Frames {
		return Errorf(CodeFrames, "The animation has %d frames to load, %d are allowed.", frames, limits.Frames)
	}
	if info.Format.IsVector() {
		return nil
	}
	return checkPixels(info.Width, info.Height, frames, limits.Pixels)
}

// checkPixels bounds width x height x frames without overflowing.
func checkPixels(width, height, frames int, limit int64) error {
	if float64(width)*float64(height)*float64(frames) <= float64(limit) {
		return nil
	}
	if frames > 1 {
		return Errorf(CodePixels, "The picture has %d frames of %dx%d pixels; %d pixels in all are allowed.",
			frames, width, height, limit)
	}
	return Errorf(CodePixels, "The picture has %dx%d pixels; %d in all are allowed.", width, height, limit)
}

// cropArea cuts the wished crop to the upright picture. One that reaches over
// an edge gives what is there; one that lies outside is an error.
func cropArea(info Info, crop *Rect) (*Area, error) {
	if crop == nil {
		return nil, nil
	}
	w, h := info.exact()
	right, bottom := min(float64(crop.X)+float64(crop.Width), w), min(float64(crop.Y)+float64(crop.Height), h)
	left, top := float64(max(crop.X, 0)), float64(max(crop.Y, 0))
	if right <= left || bottom <= top {
		width, height := info.Upright()
		return nil, Errorf(CodeInvalidParameter, "crop: %d,%d,%d,%d lies outside the picture, which is %dx%d.",
			crop.X, crop.Y, crop.Width, crop.Height, width, height).About("crop")
	}
	return &Area{X: left / w, Y: top / h, Width: (right - left) / w, Height: (bottom - top) / h}, nil
}

// region is the size that the sizes refer to: upright, cropped, rotated. It is
// in whole pixels, but for vectors, which have none yet.
func (p *Plan) region() (width, height float64) {
	width, height = p.Info.exact()
	switch {
	case p.Crop == nil:
	case p.Info.Format.IsVector():
		width, height = width*p.Crop.Width, height*p.Crop.Height
	default:
		part := p.Crop.In(p.Info.Upright())
		width, height = float64(part.Width), float64(part.Height)
	}
	if p.Request.Rotate == 90 || p.Request.Rotate == 270 {
		width, height = height, width
	}
	return width, height
}

// addOutputs lays out every size and decides how it is encoded.
func (p *Plan) addOutputs(format Format) error {
	width, height := p.region()
	for index, size := range p.Request.Sizes {
		p.Outputs = append(p.Outputs, Output{Size: size})
		layout, err := p.layOut(index, width, height, format)
		if err != nil {
			return err
		}
		p.Outputs[index].Layout = layout
		p.Outputs[index].Encode = p.encode(layout, format)
	}
	return nil
}

// LayOut is the layout of output index for a picture that trimming has cut to
// width x height, held against the same limits as the plan was.
func (p *Plan) LayOut(index, width, height int) (Layout, error) {
	return p.layOut(index, float64(width), float64(height), p.Outputs[index].Encode.Format)
}

// Limits are those the plan was made under. What only the engine sees, a later
// page or a watermark, is held against them too.
func (p *Plan) Limits() Limits { return p.limits }

func (p *Plan) layOut(index int, width, height float64, format Format) (Layout, error) {
	layout, err := layOut(p.Outputs[index].Size, width, height, p.Request)
	if err != nil {
		return Layout{}, err
	}
	finalWidth, finalHeight := layout.Final()
	limit := min(p.limits.OutputSide, format.MaxSide())
	if max(finalWidth, finalHeight) > limit {
		return Layout{}, Errorf(CodeOutputSide, "sizes: the result would be %dx%d; a side of a %s may have %d pixels at most.",
			finalWidth, finalHeight, format, limit).About("sizes")
	}
	return layout, p.checkMade(layout)
}

// checkMade holds the pixels that an output makes against the same limit as
// the source's: enlarging must not be a way around it.
func (p *Plan) checkMade(layout Layout) error {
	width, height := layout.Final()
	if err := checkPixels(width, height, p.Load.Frames, p.limits.Pixels); err != nil {
		return err
	}
	if !p.Request.Enlarge {
		return nil
	}
	return checkPixels(layout.Width, layout.Height, p.Load.Frames, p.limits.Pixels)
}
