package transform_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/transform"
)

// negotiated is a job over HTTP/1.1 or, progressive where JPEG comes out, over
// HTTP/2.
func negotiated(two bool, sizes ...media.Size) transform.Job {
	j := job(sizes...)
	j.Request.Format, j.Request.ProgressiveJPEG = media.Auto, two
	return j
}

// TestWhatIsNoJPEGIsKeptForBothProtocols, also on disk and by another process.
func TestWhatIsNoJPEGIsKeptForBothProtocols(t *testing.T) {
	for _, test := range []struct {
		name  string
		alpha bool
		first bool // over HTTP/2
		hit   bool
	}{
		{"a PNG that HTTP/1.1 had made", true, false, true},
		{"a PNG that HTTP/2 had made", true, true, true},
		{"a JPEG that HTTP/1.1 had made", false, false, false},
		{"a JPEG that HTTP/2 had made", false, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, memory := range []int64{0, 1 << 20} {
				b := newBench(t, func(c *transform.Config) { c.CacheMemory = memory })
				b.engine.info.Alpha = test.alpha
				dir := t.TempDir()
				var keys [2]string
				for i, two := range []bool{test.first, !test.first} {
					service, stop := onDisk(t, b, dir)
					for range 2 { // the second comes from the cache in any case
						res, err := service.Do(t.Context(), negotiated(two))
						if err != nil {
							t.Fatal(err)
						}
						mustRead(t, res.Outputs[0])
						if res.ETag != res.Key {
							t.Errorf("tag %s of key %s", res.ETag, res.Key)
						}
						if keys[i] == "" && i == 1 && res.CacheHit != test.hit {
							t.Errorf("memory %d: hit %t", memory, res.CacheHit)
						}
						keys[i] = res.Key
						res.Close()
					}
					stop()
				}
				if keys[0] == keys[1] {
					t.Error("both protocols have one key, while JPEG may come out")
				}
			}
		})
	}
}

// TestAVariantKeepsItsMarkUnderAnotherKey: what was decoded with other sizes is
// told from what was not, by either protocol.
func TestAVariantKeepsItsMarkUnderAnotherKey(t *testing.T) { synctest.Test(t, testVariantMark) }

func testVariantMark(t *testing.T) {
	b := newBench(t, func(c *transform.Config) { c.CacheMemory = 1 << 20 })
	b.engine.info.Alpha = true
	results, err := b.DoAll(t.Context(), []transform.Job{negotiated(false, media.Size{Width: 100}), negotiated(false, media.Size{Width: 50})})
	if err != nil {
		t.Fatal(err)
	}
	var variants []string
	for _, res := range results {
		mustRead(t, res.Outputs[0])
		_, variant, _ := strings.Cut(res.ETag, ".")
		variants = append(variants, variant)
		res.Close()
	}
	waitIdle(t, b)
	for i, width := range []int{100, 50} {
		res, err := b.Do(t.Context(), negotiated(true, media.Size{Width: width}))
		if err != nil {
			t.Fatal(err)
		}
		if variants[i] == "" || res.ETag != res.Key+"."+variants[i] || !res.CacheHit {
			t.Errorf("tag %s of key %s, hit %t; the variant is %q", res.ETag, res.Key, res.CacheHit, variants[i])
		}
		res.Close()
	}
}

// TestAKeyIsOneWhereNoJPEGCanCome: with what browsers accept.
func TestAKeyIsOneWhereNoJPEGCanCome(t *testing.T) {
	b := newBench(t, nil)
	var keys []string
	for _, two := range []bool{false, true} {
		j := negotiated(two)
		j.Accept, j.HeadersOnly = media.ParseAccept("image/avif,image/webp,*/*"), true
		res, err := b.Do(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, res.Key)
		res.Close()
	}
	if keys[0] != keys[1] {
		t.Errorf("keys %q", keys)
	}
}
