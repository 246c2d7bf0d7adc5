package vips_test

import (
	"errors"
	"strings"
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

func TestDrawingsWithoutASizeAreRefusedByName(t *testing.T) {
	for name, src := range map[string][]byte{
		"empty":                       svgOf("", ""),
		"only relative content":       svgOf("", `<rect width="100%" height="100%"/>`),
		"a size of zero":              svgOf(`width="0" height="0" viewBox="0 0 10 10"`, "<rect/>"),
		"a view box of parts a pixel": svgOf(`viewBox="0 0 0.4 0.3"`, "<rect/>"),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := start(t).Probe(t.Context(), src, media.DefaultLimits())
			var told *media.Error
			if !errors.As(err, &told) || told.Code != media.CodeDecodeFailed || !strings.Contains(told.Detail, "viewBox") {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("content that has an extent gives it", func(t *testing.T) {
		info, err := start(t).Probe(t.Context(), svgOf("", `<rect width="120" height="50"/>`), media.DefaultLimits())
		if err != nil || info.Width != 120 || info.Height != 50 {
			t.Errorf("%dx%d, %v", info.Width, info.Height, err)
		}
	})
}
