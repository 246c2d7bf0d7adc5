package media

// Negotiate gives the output format. A format that was asked for is given back
// as it stands. For auto it is the best that the client accepts, the engine
// writes, and the result fits in:
//
//   - AVIF, then WebP, where the client names them, unless it likes the old
//     format below better
//   - PNG when the result may be transparent or has to be lossless, else JPEG
//   - for animations of which more than one frame is kept: WebP, else GIF
//
// AVIF is not written animated. A result that is taller or wider than WebP
// allows gets the next format.
func Negotiate(a Accept, info Info, req Request, can Abilities) Format {
	if req.Format != Auto {
		return req.Format
	}
	old := oldFormat(a, info, req, can)
	best := old
	for _, modern := range []Format{WebP, AVIF} { // the last one wins ties
		if modern == AVIF && old == GIF {
			continue
		}
		w := a.weightOf(modern)
		if !w.named() || !can.Write[modern] || !fitsSide(modern, info, req) {
			continue
		}
		if w >= a.weightOf(best) {
			best = modern
		}
	}
	return best
}

// MayBeJPEG tells whether auto may choose JPEG for some picture whose sides
// every format can have.
func MayBeJPEG(a Accept, req Request, can Abilities) bool {
	req.Sizes = []Size{{}}
	req.Crop, req.Trim, req.Format = nil, 0, Auto
	for _, info := range []Info{{Alpha: false}, {Alpha: true}, {Animated: true, Frames: 2}} {
		info.Width, info.Height, info.Format = 1, 1, JPEG
		if Negotiate(a, info, req, can) == JPEG {
			return true
		}
	}
	return false
}

// oldFormat is what a client gets that names nothing new.
func oldFormat(a Accept, info Info, req Request, can Abilities) Format {
	var wanted []Format
	transparent := info.Alpha && (req.Background == nil || req.Background.A < 255)
	switch {
	case framesWanted(info, req, GIF) > 1:
		wanted = []Format{GIF, PNG, JPEG}
	case req.Lossless:
		wanted = []Format{PNG, GIF}
	case transparent:
		wanted = []Format{PNG, JPEG}
	default:
		wanted = []Format{JPEG, PNG}
	}
	for _, f := range wanted {
		if can.Write[f] && !a.weightOf(f).excluded() {
			return f
		}
	}
	return wanted[0]
}

// fitsSide tells whether every result keeps within the format's longest side.
// What cannot be laid out at all is left to NewPlan, which says why.
func fitsSide(f Format, info Info, req Request) bool {
	area, err := cropArea(info, req.Crop)
	if err != nil || info.Width < 1 || info.Height < 1 {
		return true
	}
	req.Enlarge = req.Enlarge || info.Format.IsVector()
	plan := Plan{Info: info, Request: req, Crop: area}
	width, height := plan.region()
	for _, size := range req.Sizes {
		layout, err := layOut(size, width, height, req)
		if err != nil {
			return true
		}
		if w, h := layout.Final(); max(w, h) > f.MaxSide() {
			return false
		}
	}
	return true
}
