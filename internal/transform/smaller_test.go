package transform_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/testpictures"
	"github.com/spillway-media/spillway/internal/transform"
)

func TestNoChangeIsNeverMoreBytes(t *testing.T) {
	picture := testpictures.JPEG(testpictures.Scene(400, 300), 60)
	cases := map[string]struct {
		result  int // bytes that the engine makes
		change  func(*media.Request)
		smaller bool
	}{
		"a larger result gives way to its source":          {len(picture) + 1, func(*media.Request) {}, true},
		"a smaller result stays":                           {len(picture) / 2, func(*media.Request) {}, false},
		"what was asked to change is never the source":     {len(picture) + 1, func(r *media.Request) { r.Grayscale = true }, false},
		"a quality that was asked for is never the source": {len(picture) + 1, func(r *media.Request) { r.Quality = 95 }, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.source.files["a.jpg"] = picture
			b.engine.run = func(_ context.Context, _ *media.Plan, begin transform.Begin) error {
				out, err := begin(0, transform.Made{Width: 400, Height: 300, Frames: 1, Quality: 80})
				if err == nil {
					_, err = out.Write(make([]byte, c.result))
				}
				return err
			}
			j := job()
			j.Request.Format = media.JPEG
			c.change(&j.Request)
			res, err := b.Do(t.Context(), j)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Close()
			got := []byte(mustRead(t, res.Outputs[0]))
			stripped, ok := media.Strip(picture, photo())
			if !ok {
				t.Fatal("the test's own picture cannot be stripped")
			}
			if want := bytes.Equal(got, stripped); want != c.smaller || !c.smaller && len(got) != c.result {
				t.Errorf("%d bytes from a source of %d and a result of %d", len(got), len(picture), c.result)
			}
		})
	}
}
