package media_test

import (
	"testing"

	"github.com/spillway-media/spillway/internal/media"
)

const (
	chrome  = "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8"
	firefox = "image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5"
	safari  = "image/webp,image/avif,image/jxl,image/heic,image/heic-sequence,video/*;q=0.8,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5"
	curl    = "*/*"
)

func TestAcceptKey(t *testing.T) {
	tests := []struct{ name, header, want string }{
		{"no header is the class of old clients", "", ""},
		{"curl accepts everything and names nothing", curl, ""},
		{"image/* names nothing", "image/*", ""},
		{"Chrome", chrome, "avif,webp"},
		{"Firefox", firefox, "avif,webp"},
		{"Safari is the same class", safari, "avif,webp"},
		{"only WebP", "image/webp,*/*;q=0.8", "webp"},
		{"names are read in any case", "Image/WebP ; Q=0.9", "webp"},
		{"q=0 excludes", "image/avif;q=0,image/webp", "webp"},
		{"q=0.0 excludes", "image/avif;q=0.0,image/webp", "webp"},
		{"preference orders", "image/avif;q=0.5,image/webp;q=0.9", "webp,avif"},
		{"an old format liked better stands first", "image/webp;q=0.5,image/jpeg", "jpeg,webp"},
		{"a wildcard liked better counts for the old ones", "image/webp;q=0.5,image/*", "gif,jpeg,png,webp"},
		{"a refused old format is told", "image/png;q=0,*/*", "!png"},
		{"a malformed weight drops its entry", "image/avif;q=2,image/webp;q=x,image/png;q=", ""},
		{"other parameters do not matter", "image/webp;level=1;q=0.5", "webp"},
		{"spaces do not matter", "  image/avif , image/webp;q=0.9 ", "avif,webp"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := media.ParseAccept(test.header).Key(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestMayBeJPEG: no source whose sides every format can have gives JPEG where
// it says so.
func TestMayBeJPEG(t *testing.T) {
	tests := []struct {
		name, header string
		lossless     bool
		without      media.Format
		want         bool
	}{
		{"old clients", "", false, "", true},
		{"curl", curl, false, "", true},
		{"Chrome", chrome, false, "", false},
		{"Firefox", firefox, false, "", false},
		{"only WebP", "image/webp,*/*;q=0.8", false, "", false},
		{"WebP that is not written", "image/webp,*/*;q=0.8", false, media.WebP, true},
		{"JPEG is liked better", "image/webp;q=0.5,image/jpeg", false, "", true},
		{"nothing may be lost", "", true, "", false},
		{"JPEG is refused", "image/jpeg;q=0,*/*", false, "", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			can := everything()
			if test.without != "" {
				can.Write[test.without] = false
			}
			accept, req := media.ParseAccept(test.header), wish(func(r *media.Request) { r.Lossless = test.lossless })
			if got := media.MayBeJPEG(accept, req, can); got != test.want {
				t.Errorf("got %t", got)
			}
			for _, info := range []media.Info{photo(), photo(func(i *media.Info) { i.Alpha = true }), photo(func(i *media.Info) { i.Animated, i.Frames = true, 9 })} {
				if media.Negotiate(accept, info, req, can) == media.JPEG && !test.want {
					t.Errorf("%+v becomes one", info)
				}
			}
		})
	}
}

func TestNegotiate(t *testing.T) {
	alpha := func(i *media.Info) { i.Format, i.Alpha, i.Bands = media.PNG, true, 4 }
	animated := func(i *media.Info) { i.Format, i.Animated, i.Frames, i.Alpha = media.GIF, true, 5, true }
	plain := func(*media.Info) {}
	without := func(formats ...media.Format) func(media.Abilities) {
		return func(a media.Abilities) {
			for _, f := range formats {
				a.Write[f] = false
			}
		}
	}
	whole := without()
	tests := []struct {
		name   string
		header string
		info   func(*media.Info)
		query  string
		can    func(media.Abilities)
		want   media.Format
	}{
		{"a photo for Chrome is AVIF", chrome, plain, "", whole, media.AVIF},
		{"a photo for curl is JPEG", curl, plain, "", whole, media.JPEG},
		{"a photo without a header is JPEG", "", plain, "", whole, media.JPEG},
		{"what is asked for is given", chrome, plain, "format=tiff", whole, media.TIFF},
		{"WebP stands in for an AVIF that is not written", chrome, plain, "", without(media.AVIF), media.WebP},
		{"JPEG stands in for both", chrome, plain, "", without(media.AVIF, media.WebP), media.JPEG},
		{"WebP liked better wins", "image/avif;q=0.5,image/webp", plain, "", whole, media.WebP},
		{"JPEG liked better wins", "image/avif;q=0.5,image/jpeg", plain, "", whole, media.JPEG},
		{"a tie goes to AVIF", "image/webp;q=0.5,image/avif;q=0.5", plain, "", whole, media.AVIF},
		{"JPEG XL is never chosen", "image/jxl", plain, "", whole, media.JPEG},
		{"transparency for old clients is PNG", curl, alpha, "", whole, media.PNG},
		{"transparency over a background is JPEG", curl, alpha, "background=fff", whole, media.JPEG},
		{"a background that lets through stays PNG", curl, alpha, "background=fff8", whole, media.PNG},
		{"PNG refused is JPEG", "image/png;q=0,*/*", alpha, "", whole, media.JPEG},
		{"lossless for old clients is PNG", curl, plain, "lossless", whole, media.PNG},
		{"an animation is WebP", chrome, animated, "", whole, media.WebP},
		{"an animation for old clients is GIF", curl, animated, "", whole, media.GIF},
		{"an animation for AVIF clients is not AVIF", "image/avif,*/*", animated, "", whole, media.GIF},
		{"a still of an animation may be AVIF", chrome, animated, "frames=1", whole, media.AVIF},
		{"the last frame is a still", curl, animated, "page=5", whole, media.PNG},
		{"an animation that cannot be written as one is a still", chrome, animated, "", without(media.GIF, media.WebP), media.AVIF},
		{"a result too tall for WebP is JPEG", "image/webp,*/*", func(i *media.Info) { i.Width, i.Height = 400, 20000 }, "", whole, media.JPEG},
		{"a smaller result of it is WebP", "image/webp,*/*", func(i *media.Info) { i.Width, i.Height = 400, 20000 }, "sizes=300x0", whole, media.WebP},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			req, err := parse(t, test.query)
			if err != nil {
				t.Fatal(err)
			}
			can := everything()
			test.can(can)
			if got := media.Negotiate(media.ParseAccept(test.header), photo(test.info), req, can); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// TestAcceptKeyDecides holds what caches rely on: clients with the same key
// get the same format, whatever the picture.
func TestAcceptKeyDecides(t *testing.T) {
	weights := []string{"", ";q=0", ";q=0.4", ";q=0.8"}
	infos := []media.Info{
		photo(),
		photo(func(i *media.Info) { i.Alpha = true }),
		photo(func(i *media.Info) { i.Format, i.Animated, i.Frames = media.GIF, true, 3 }),
	}
	chosen := map[string]string{}
	for n := range 5 * 5 * 5 * 5 * 5 {
		header, rest := "", n
		for _, kind := range []string{"image/avif", "image/webp", "image/jpeg", "image/png", "*/*"} {
			if choice := rest % 5; choice < 4 {
				header += kind + weights[choice] + ","
			}
			rest /= 5
		}
		accept, formats := media.ParseAccept(header), ""
		for _, info := range infos {
			formats += " " + string(media.Negotiate(accept, info, media.NewRequest(), everything()))
		}
		if before, known := chosen[accept.Key()]; known && before != formats {
			t.Fatalf("%q has key %q and gives%s, another with it gave%s", header, accept.Key(), formats, before)
		}
		chosen[accept.Key()] = formats
	}
}
