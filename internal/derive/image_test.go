package derive_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/blob"
	"github.com/spillway-media/spillway/internal/derive"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testpictures"
	"github.com/spillway-media/spillway/internal/transform"
	"github.com/spillway-media/spillway/jobs"
)

// imageResult is what image.derive answers.
type imageResult struct {
	Input   derive.Original
	Outputs []derive.Output
}

func scene(w, h int) []byte { return testpictures.JPEG(testpictures.Scene(w, h), 90) }

func TestImageDeriveMakesAllOfOneFetchAndOneDecode(t *testing.T) {
	b := newBench(t, map[string][]byte{"a.jpg": scene(900, 600)})
	h := newHost()
	job := enqueue(t, derive.TypeImage, "a.jpg", `{"sizes":"300x0,600x0,90x90","fit":"cover","format":"webp,avif,jpeg","effort":0}`)
	got := mustDo[imageResult](t, b, job, h)

	if runs, opens := b.engine.runs.Load(), b.sources.opens.Load(); runs != 1 || opens != 1 {
		t.Errorf("%d decodes of %d fetches", runs, opens)
	}
	t.Logf("summary: image.derive made %d outputs of %d fetch and %d decode (merged %d)",
		len(got.Outputs), b.sources.opens.Load(), b.engine.runs.Load(), b.images.Stats().Merged)
	if want := (derive.Original{Format: "jpeg", Width: 900, Height: 600, Bytes: int64(len(scene(900, 600)))}); got.Input != want {
		t.Errorf("input %+v", got.Input)
	}
	var sizes []string
	for _, o := range got.Outputs {
		sizes = append(sizes, fmt.Sprintf("%s %s %dx%d", o.Format, o.Size, o.Width, o.Height))
		data := b.stored(t, o.Key)
		sum := sha256.Sum256(data)
		name := hex.EncodeToString(sum[:])
		key := fmt.Sprintf("jobs/7/%s-%dx%d.%s", name[:32], o.Width, o.Height, media.Format(o.Format).Extension())
		if o.SHA256 != name || o.Key != key || o.Bytes != int64(len(data)) || o.ContentType != "image/"+o.Format {
			t.Errorf("output %+v of %d bytes, which should be at %s", o, len(data), key)
		}
		if format := media.Sniff(data); string(format) != o.Format {
			t.Errorf("%s is %s", o.Key, format)
		}
	}
	want := []string{
		"webp 300x0 300x200", "webp 600x0 600x400", "webp 90x90 90x90",
		"avif 300x0 300x200", "avif 600x0 600x400", "avif 90x90 90x90",
		"jpeg 300x0 300x200", "jpeg 600x0 600x400", "jpeg 90x90 90x90",
	}
	if diff := cmp.Diff(want, sizes); diff != "" {
		t.Error(diff)
	}
	var told []jobs.Progress
	for i := range int64(10) {
		told = append(told, jobs.Progress{Done: i, Total: 9})
	}
	if diff := cmp.Diff(told, h.progress); diff != "" {
		t.Error("progress:", diff)
	}
}

func TestAnotherAttemptAdoptsWhatIsThere(t *testing.T) {
	b := newBench(t, map[string][]byte{"a.jpg": scene(300, 200)})
	job := enqueue(t, derive.TypeImage, "a.jpg", `{"sizes":["100x0","50x0"],"format":"png"}`)
	first := mustDo[imageResult](t, b, job, newHost())
	before := b.keys(t, "jobs")
	if diff := cmp.Diff(first, mustDo[imageResult](t, b, job, newHost())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, b.keys(t, "jobs")); diff != "" || len(before) != 2 {
		t.Errorf("of %v: %s", before, diff)
	}
	t.Run("but not other bytes under its name", func(t *testing.T) {
		if _, err := b.cfg.Blobs.Put(t.Context(), first.Outputs[0].Key, strings.NewReader("x"), 1, blob.PutOptions{}); err != nil {
			t.Fatal(err)
		}
		_, err := b.do(t.Context(), job, newHost())
		if f := wantFailure(t, err, derive.CodeStore); f.Permanent || f.Release != 0 {
			t.Errorf("failure %+v", f)
		}
	})
}

func TestALostLeaseWritesNothing(t *testing.T) {
	b := newBench(t, map[string][]byte{"a.jpg": scene(300, 200)})
	h := newHost()
	h.lose(true)
	_, err := b.do(t.Context(), enqueue(t, derive.TypeImage, "a.jpg", `{"sizes":"100x0"}`), h)
	if !errors.Is(err, jobs.ErrLeaseLost) {
		t.Errorf("got %v", err)
	}
	if keys := b.keys(t, ""); len(keys) != 0 {
		t.Errorf("written are %v", keys)
	}
}

// refusing is a service that always gives one error.
type refusing struct{ err error }

func (r refusing) DoAll(context.Context, []transform.Job) ([]*transform.Result, error) {
	return nil, r.err
}

func TestFailuresAreTriedAgainWhenThatHelps(t *testing.T) {
	type verdict struct {
		permanent bool
		release   time.Duration
	}
	cases := []struct {
		name string
		err  *media.Error
		want verdict
	}{
		{"what is no picture is given up", media.Errorf(media.CodeUnsupported, "It is not."), verdict{permanent: true}},
		{"so is a broken one", media.Errorf(media.CodeDecodeFailed, "It is."), verdict{permanent: true}},
		{"and one that is too large", media.Errorf(media.CodePixels, "It is."), verdict{permanent: true}},
		{"and one that is not there", media.Errorf(media.CodeSourceNotFound, "It is not."), verdict{permanent: true}},
		{"and one that may not be read", media.Errorf(media.CodeSourceForbidden, "It may not."), verdict{permanent: true}},
		{"an origin that fails is tried again", media.Errorf(media.CodeSourceFailed, "It fails."), verdict{}},
		{"so is one that is slow", media.Errorf(media.CodeSourceTimeout, "It is."), verdict{}},
		{"and a transform that took too long", media.Errorf(media.CodeTimeout, "It did."), verdict{}},
		{"a busy service burns nothing", media.Errorf(media.CodeOverloaded, "It is."), verdict{release: 15 * time.Second}},
		{"nor does an origin that is not asked", &media.Error{Code: media.CodeSourceUnavailable, Detail: "It is not.", RetryAfter: time.Minute}, verdict{release: time.Minute}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.err.Cause = errors.New("a secret of the log")
			cfg := derive.Config{Limits: media.DefaultLimits(), Images: refusing{c.err}}
			job := enqueue(t, derive.TypeImage, "a.jpg", `{"sizes":"100x0"}`)
			_, err := derive.Handlers(cfg)[derive.TypeImage].Do(t.Context(), jobs.NewTask(job, newHost()))
			f := wantFailure(t, err, c.err.Code)
			if got := (verdict{f.Permanent, f.Release}); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			if f.Reason != c.err.Detail {
				t.Errorf("the reason is %q", f.Reason)
			}
		})
	}
	t.Run("the end of the context is told by its cause", func(t *testing.T) {
		ctx, stop := context.WithCancelCause(t.Context())
		stop(jobs.ErrDraining)
		cfg := derive.Config{Limits: media.DefaultLimits(), Images: refusing{media.Errorf(media.CodeCancelled, "It ended.")}}
		job := enqueue(t, derive.TypeImage, "a.jpg", `{"sizes":"100x0"}`)
		if _, err := derive.Handlers(cfg)[derive.TypeImage].Do(ctx, jobs.NewTask(job, newHost())); !errors.Is(err, jobs.ErrDraining) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("params of another release are given up", func(t *testing.T) {
		job := jobs.Job{ID: 1, Spec: jobs.Spec{Type: derive.TypeImage, Input: "a.jpg", Params: []byte(`{"sizes":"100x0","hue":3}`)}}
		_, err := derive.Handlers(derive.Config{Limits: media.DefaultLimits()})[derive.TypeImage].Do(t.Context(), jobs.NewTask(job, newHost()))
		if f := wantFailure(t, err, media.CodeInvalidParameter); !f.Permanent || !strings.Contains(f.Reason, "hue") {
			t.Errorf("failure %+v", f)
		}
	})
}

func TestRealFaultsOfPictures(t *testing.T) {
	b := newBench(t, map[string][]byte{"text.jpg": []byte("this is no picture"), "cut.jpg": scene(300, 200)[:700]})
	for name, want := range map[string]media.Code{
		"text.jpg": media.CodeUnsupported, "cut.jpg": media.CodeDecodeFailed, "missing.jpg": media.CodeSourceNotFound,
		"https://example.com/a.jpg": media.CodeSourceForbidden, "../a.jpg": media.CodeSourceForbidden,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := b.do(t.Context(), enqueue(t, derive.TypeImage, name, `{"sizes":"100x0","format":"webp"}`), newHost())
			if f := wantFailure(t, err, want); !f.Permanent {
				t.Errorf("it is tried again: %+v", f)
			}
		})
	}
	if keys := b.keys(t, ""); len(keys) != 0 {
		t.Errorf("stored are %v", keys)
	}
}

// upright is red on its left, green on its right, and blue along its top.
func upright(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	draw.Draw(img, image.Rect(0, 0, w/2, h), image.NewUniform(color.NRGBA{255, 0, 0, 255}), image.Point{}, draw.Src)
	draw.Draw(img, image.Rect(w/2, 0, w, h), image.NewUniform(color.NRGBA{0, 255, 0, 255}), image.Point{}, draw.Src)
	draw.Draw(img, image.Rect(0, 0, w, h/4), image.NewUniform(color.NRGBA{0, 0, 255, 255}), image.Point{}, draw.Src)
	return img
}

// Report 22 is of text that was recognised in a page before it was turned. The
// same rule for pictures: whatever is said by position (gravity, crop, a focal
// point) is said of the picture as it is shown, after its own orientation.
func TestBugReport22_PositionsBelongToThePictureAsShown(t *testing.T) {
	const w, h = 160, 80
	pictures := map[string][]byte{}
	for o := 1; o <= 8; o++ {
		exif := testpictures.EXIF{Orientation: o}
		pictures[fmt.Sprintf("%d.jpg", o)] = testpictures.JPEG(testpictures.Stored(upright(w, h), o), 95, testpictures.EXIFSegment(exif.Bytes()))
	}
	b := newBench(t, pictures)
	red, green, blue := [3]int{255, 0, 0}, [3]int{0, 255, 0}, [3]int{0, 0, 255}
	for _, c := range []struct {
		name, params string
		w, h         int
		middle       [3]int // of the lower half of the result
	}{
		{"gravity west keeps the left of what is seen", `{"sizes":"40x80","fit":"cover","gravity":"west"}`, 40, 80, red},
		{"gravity east keeps the right of what is seen", `{"sizes":"40x80","fit":"cover","gravity":"east"}`, 40, 80, green},
		{"a focal point is a share of what is seen", `{"sizes":"40x80","fit":"cover","gravity":"0.1,0.5"}`, 40, 80, red},
		{"gravity north keeps the top", `{"sizes":"160x16","fit":"cover","gravity":"north"}`, 160, 16, blue},
		{"crop is in pixels of what is seen", `{"sizes":"0x0","crop":"90,30,40,40"}`, 40, 40, green},
		{"gravity is applied after a turn that was asked for", `{"sizes":"160x16","fit":"cover","rotate":180,"gravity":"north"}`, 160, 16, green},
	} {
		t.Run(c.name, func(t *testing.T) {
			for o := 1; o <= 8; o++ {
				params := strings.TrimSuffix(c.params, "}") + `,"format":"png"}`
				got := mustDo[imageResult](t, b, enqueue(t, derive.TypeImage, fmt.Sprintf("%d.jpg", o), params), newHost())
				if got.Input.Width != w || got.Input.Height != h {
					t.Errorf("orientation %d: the original is told as %dx%d", o, got.Input.Width, got.Input.Height)
				}
				img, err := png.Decode(bytes.NewReader(b.stored(t, got.Outputs[0].Key)))
				if err != nil {
					t.Fatal(err)
				}
				if size := img.Bounds().Size(); size != (image.Point{c.w, c.h}) {
					t.Errorf("orientation %d: %v, want %dx%d", o, size, c.w, c.h)
				}
				if at := colourOf(img, c.w/4, c.h*3/4); !near(at, c.middle) {
					t.Errorf("orientation %d: there is %v, want about %v", o, at, c.middle)
				}
			}
		})
	}
}

func colourOf(img image.Image, x, y int) [3]int {
	r, g, b, _ := img.At(x, y).RGBA()
	return [3]int{int(r >> 8), int(g >> 8), int(b >> 8)}
}

func near(a, b [3]int) bool {
	for i := range a {
		if a[i]-b[i] > 40 || b[i]-a[i] > 40 {
			return false
		}
	}
	return true
}
