package media_test

import (
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/media"
)

func planned(t *testing.T, info media.Info, req media.Request, format media.Format) *media.Plan {
	t.Helper()
	plan, err := media.NewPlan(info, req, format, everything(), media.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func TestCostGrowsWithTheWork(t *testing.T) {
	thumbnail := boxes(media.Size{Width: 300})
	progressive := func(i *media.Info) { i.Progressive = true }
	gif := func(i *media.Info) {
		i.Format, i.Animated, i.Frames, i.Width, i.Height, i.Bands = media.GIF, true, 40, 600, 400, 4
	}
	quick := func(r *media.Request) { r.Effort = 0 }
	tests := []struct {
		name         string
		cheap, heavy *media.Plan
	}{
		{"a progressive photo costs more than a plain one", planned(t, photo(), wish(thumbnail), media.WebP), planned(t, photo(progressive), wish(thumbnail), media.WebP)},
		{"a larger result costs more", planned(t, photo(), wish(thumbnail), media.WebP), planned(t, photo(), wish(boxes(media.Size{Width: 1200})), media.WebP)},
		{"AVIF costs more than WebP", planned(t, photo(), wish(), media.WebP), planned(t, photo(), wish(), media.AVIF)},
		{"effort costs", planned(t, photo(), wish(quick), media.WebP), planned(t, photo(), wish(), media.WebP)},
		{"a bound on the bytes costs several encodes", planned(t, photo(), wish(), media.JPEG), planned(t, photo(), wish(func(r *media.Request) { r.MaxBytes = 100_000 }), media.JPEG)},
		{"all frames cost more than the first", planned(t, photo(gif), wish(thumbnail), media.JPEG), planned(t, photo(gif), wish(thumbnail), media.WebP)},
		{"a blur costs", planned(t, photo(), wish(thumbnail), media.WebP), planned(t, photo(), wish(thumbnail, func(r *media.Request) { r.Blur = 5 }), media.WebP)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.cheap.Cost <= 0 || test.cheap.Cost >= test.heavy.Cost {
				t.Errorf("costs are %s and %s", test.cheap.Cost, test.heavy.Cost)
			}
		})
	}
}

func TestHeavyIsWhatOthersShouldNotWaitBehind(t *testing.T) {
	thumbnail := boxes(media.Size{Width: 300})
	animated := photo(func(i *media.Info) { i.Format, i.Animated, i.Frames, i.Width, i.Height = media.GIF, true, 2, 10, 10 })
	tests := []struct {
		name string
		plan *media.Plan
		want bool
	}{
		{"a thumbnail of a photo is not", planned(t, photo(), wish(thumbnail), media.WebP), false},
		{"the smallest animation is", planned(t, animated, wish(), media.WebP), true},
		{"its first frame is not", planned(t, animated, wish(), media.JPEG), false},
		{"the smallest AVIF is", planned(t, photo(), wish(boxes(media.Size{Width: 16})), media.AVIF), true},
		{"whatever takes long is", planned(t, photo(), wish(func(r *media.Request) { r.Effort = 9 }), media.WebP), true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.plan.Heavy(); got != test.want {
				t.Errorf("heavy is %t for a cost of %s", got, test.plan.Cost)
			}
		})
	}
}

func TestEasedRequestsGiveTheEncoderLessToDo(t *testing.T) {
	for _, format := range media.OutputFormats() {
		t.Run(string(format), func(t *testing.T) {
			req := wish(boxes(media.Size{Width: 300}))
			req.Format = format
			eased, ok := req.Eased()
			usual, less := planned(t, photo(), req, format), planned(t, photo(), eased, format)
			if ok != (less.Outputs[0].Encode.Effort < usual.Outputs[0].Encode.Effort) || ok != (less.Cost < usual.Cost) {
				t.Errorf("eased is %t: effort %d after %d, cost %s after %s", ok,
					less.Outputs[0].Encode.Effort, usual.Outputs[0].Encode.Effort, less.Cost, usual.Cost)
			}
			if ok == (eased.Canonical() == req.Canonical()) {
				t.Errorf("eased is %t, and its results go by %q", ok, eased.Canonical())
			}
		})
	}
	t.Run("a format that is not negotiated yet may be", func(t *testing.T) {
		if _, ok := media.NewRequest().Eased(); !ok {
			t.Error("refused")
		}
	})
	t.Run("an effort that was asked for stays", func(t *testing.T) {
		req := wish(func(r *media.Request) { r.Effort = 4 })
		if eased, ok := req.Eased(); ok || eased.Effort != 4 {
			t.Errorf("got effort %d, %t", eased.Effort, ok)
		}
	})
	t.Run("nothing is eased twice", func(t *testing.T) {
		eased, _ := media.NewRequest().Eased()
		if _, ok := eased.Eased(); ok {
			t.Error("eased again")
		}
	})
}

func TestCostIsPlausible(t *testing.T) {
	plan := planned(t, photo(), wish(boxes(media.Size{Width: 300})), media.WebP)
	if plan.Cost < 20*time.Millisecond || plan.Cost > 300*time.Millisecond {
		t.Errorf("a thumbnail of a 12-megapixel photo is said to take %s", plan.Cost)
	}
}
