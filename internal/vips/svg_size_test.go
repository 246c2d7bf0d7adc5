package vips_test

import (
	"testing"

	"github.com/spillway-media/spillway/internal/media"
)

// svgOf is a drawing whose root has these attributes.
func svgOf(attributes, content string) []byte {
	return []byte(`<svg xmlns="http://www.w3.org/2000/svg" ` + attributes + `>` + content + `</svg>`)
}

func TestDrawingsKeepTheRatioOfTheirExactSize(t *testing.T) {
	tests := []struct {
		name, root    string
		width, height int // for a width of 3000
	}{
		{"a view box with parts of pixels", `viewBox="0 0 24.5 10.25"`, 3000, 1255},
		{"a size with parts of pixels", `width="24.5" height="10.25"`, 3000, 1255},
		{"a size in millimetres", `width="7mm" height="3mm" viewBox="0 0 7 3"`, 3000, 1286},
		{"a small view box", `viewBox="0 0 1 0.6"`, 3000, 1800},
		{"a size in em, which are 12 pixels", `width="2em" height="10"`, 3000, 1250},
		{"a size in a style", `style="width:80.5px;height:40px"`, 3000, 1491},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			out := render(t, svgOf(test.root, `<rect width="100%" height="100%" fill="#c00"/>`), ask(3000, 0), media.PNG)
			if out.Width != test.width || out.Height != test.height {
				t.Errorf("result is %dx%d, want %dx%d", out.Width, out.Height, test.width, test.height)
			}
		})
	}
}
