package browser

import "context"

// Screen is what a page is shown on. Sizes are in CSS pixels.
type Screen struct {
	Width, Height int
	Scale         float64 // device pixels for one of CSS; 0 is 1
	Phone, Dark   bool
	Still         bool // the reader wants less motion
	Forced        bool // the system's own few colours
}

// Show puts the tab on a screen.
func (p *Page) Show(ctx context.Context, s Screen) error {
	if s.Scale == 0 {
		s.Scale = 1
	}
	size := map[string]any{"width": s.Width, "height": s.Height, "deviceScaleFactor": s.Scale, "mobile": s.Phone}
	if err := p.Call(ctx, "Emulation.setDeviceMetricsOverride", size, nil); err != nil {
		return err
	}
	if err := p.Call(ctx, "Emulation.setTouchEmulationEnabled", map[string]any{"enabled": s.Phone}, nil); err != nil {
		return err
	}
	return p.Call(ctx, "Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{
		{"name": "prefers-color-scheme", "value": word(s.Dark, "dark", "light")},
		{"name": "prefers-reduced-motion", "value": word(s.Still, "reduce", "no-preference")},
		{"name": "forced-colors", "value": word(s.Forced, "active", "none")},
	}}, nil)
}

func word(yes bool, then, otherwise string) string {
	if yes {
		return then
	}
	return otherwise
}
