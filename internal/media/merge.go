package media

// Merge makes one plan of two for the same source, so that one decode serves
// both; its outputs are those of a, then those of b. It is false when their
// steps differ, or when together they would not fit the limits.
//
// What is loaded follows the largest output, so that a merged plan may give
// other bytes than its parts would alone, though never less to scale from.
func Merge(a, b *Plan) (*Plan, bool) {
	steps := a.Steps()
	if steps == "" || steps != b.Steps() || len(a.Outputs)+len(b.Outputs) > a.limits.Outputs {
		return nil, false
	}
	merged := *a
	merged.Outputs = append(append([]Output(nil), a.Outputs...), b.Outputs...)
	merged.Request.Sizes = append(append([]Size(nil), a.Request.Sizes...), b.Request.Sizes...)
	merged.Load.Shrink, merged.Load.Scale = 1, 1
	if err := merged.settle(); err != nil {
		return nil, false
	}
	return &merged, merged.Cost <= merged.limits.Time/4
}

// settle decides what follows from the outputs: what is loaded, and what all
// of it takes.
func (p *Plan) settle() error {
	if err := p.chooseLoad(); err != nil {
		return err
	}
	p.Memory, p.Cost = p.estimateMemory(), p.estimateCost()
	return nil
}

// Steps is equal for plans of one source that can be merged, and empty for one
// that never can: animations and vectors are loaded as their own output needs,
// trimming lays out anew, and a search for a size that cannot be met would
// fail its neighbours.
func (p *Plan) Steps() string {
	if p.Load.Frames > 1 || p.Info.Format.IsVector() || p.Request.Trim > 0 || p.Request.MaxBytes > 0 {
		return ""
	}
	r := p.Request
	plain := NewRequest()
	// What each output has of its own; the rest is done once for all.
	r.Sizes, r.Fit, r.Enlarge, r.Gravity, r.DPR = plain.Sizes, plain.Fit, plain.Enlarge, plain.Gravity, plain.DPR
	r.Format, r.Quality, r.Lossless, r.Effort = plain.Format, plain.Quality, plain.Lossless, plain.Effort
	r.Progressive, r.ProgressiveJPEG = plain.Progressive, plain.ProgressiveJPEG
	return "steps&" + r.Canonical()
}

// ThumbSide is the longest side of what AddThumb adds.
const ThumbSide = 32

// AddThumb adds a last output: the first one again, small, as raw rows.
func (p *Plan) AddThumb() error {
	first := p.Outputs[0]
	width, height := first.Layout.Final()
	shrink := min(1, float64(ThumbSide)/float64(max(width, height)))
	shrink /= p.Request.DPR // which multiplies it again
	size := Size{Width: rounded(float64(width) * shrink), Height: rounded(float64(height) * shrink)}
	p.Outputs = append(p.Outputs, Output{Size: size})
	index := len(p.Outputs) - 1
	area, high := p.region()
	layout, err := p.layOut(index, area, high, Raw)
	if err != nil {
		return err
	}
	p.Outputs[index].Layout, p.Outputs[index].Encode = layout, p.encode(layout, Raw)
	if !p.Request.Keep.ICC {
		p.Outputs[index].Back = index
	} // else the finished pixels may be in colours of their own
	return p.settle()
}
