package media_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/media"
)

func TestErrorCarriesItsCauseForTheLog(t *testing.T) {
	err := error(media.Wrap(media.CodeSourceFailed, io.ErrUnexpectedEOF, "The source ended early.").About("image_url"))
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), io.ErrUnexpectedEOF.Error()) {
		t.Errorf("%v hides its cause", err)
	}
	var fault *media.Error
	if !errors.As(err, &fault) || fault.Param != "image_url" || strings.Contains(fault.Detail, "EOF") {
		t.Errorf("got %+v", fault)
	}
}

func TestFormatTraits(t *testing.T) {
	tests := []struct {
		format                            media.Format
		kind                              string
		alpha, animate, vector, out, loss bool
	}{
		{media.JPEG, "image/jpeg", false, false, false, true, true},
		{media.PNG, "image/png", true, false, false, true, false},
		{media.WebP, "image/webp", true, true, false, true, true},
		{media.AVIF, "image/avif", true, false, false, true, true},
		{media.GIF, "image/gif", true, true, false, true, false},
		{media.SVG, "image/svg+xml", true, false, true, false, false},
		{media.HEIC, "image/heic", true, false, false, false, false},
		{media.Unknown, "application/octet-stream", false, false, false, false, false},
	}
	for _, test := range tests {
		f := test.format
		if f.ContentType() != test.kind || f.CanAlpha() != test.alpha || f.CanAnimate() != test.animate ||
			f.IsVector() != test.vector || f.IsOutput() != test.out || f.CanLossy() != test.loss {
			t.Errorf("%q: wrong traits", f)
		}
	}
	for _, f := range media.OutputFormats() {
		if !f.IsOutput() || f.MaxSide() < 16383 || f.Extension() == "" {
			t.Errorf("%s is no output", f)
		}
	}
}

func TestLimitsValidateNamesEveryFault(t *testing.T) {
	if err := media.DefaultLimits().Validate(); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
	limits := media.Limits{Time: time.Millisecond}
	err := limits.Validate()
	if err == nil {
		t.Fatal("nothing is refused")
	}
	for _, key := range []string{"max-source-bytes", "max-pixels", "max-output-side", "max-output-bytes", "max-outputs", "max-frames",
		"max-jpeg-scans", "max-svg-nodes", "max-metadata-bytes", "max-page", "transform-timeout"} {
		if !strings.Contains(err.Error(), key) {
			t.Errorf("%v does not mention %s", err, key)
		}
	}
}
