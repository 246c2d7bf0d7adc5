package pictures

import (
	"context"
	"errors"
	"fmt"
	"image/color"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spillway-media/spillway/internal/testpictures"
)

// Kinds of originals, each a ring of names and a file.
const (
	Photo12     = "photo12"     // baseline JPEG, 4000x3000, 2 to 3 MB
	Progressive = "progressive" // the same, progressive
	Photo6      = "photo6"      // baseline JPEG, 2725x2225
	Photo24     = "photo24"     // baseline JPEG, 6000x4000
	Alpha       = "alpha"       // PNG with soft transparency, 3000x2250
	WebP        = "webp"        // 2725x2225
	AVIF        = "avif"        // 2725x2225
	GIF         = "gif"         // 600x400, 40 frames
	Small       = "small"       // JPEG, 90x60: costs next to nothing
	Camera      = "camera"      // a real photograph from the corpus, where there is one
)

// Mixed are the kinds of the mixed corpus.
func Mixed() []string {
	return []string{Photo12, Photo6, Progressive, Alpha, Photo24, WebP, AVIF, GIF}
}

// Set is what the server's source root holds.
type Set struct {
	Root  string
	rings map[string]*Ring
	files map[string]string
}

// Has tells whether there is such a kind.
func (s *Set) Has(kind string) bool { return s.rings[kind] != nil }

// Next is the key of a kind under a name that was not given away for long.
func (s *Set) Next(kind string) string { return s.rings[kind].Next() }

// File is the path of a kind.
func (s *Set) File(kind string) string { return s.files[kind] }

// Plan says what to make a set from.
type Plan struct {
	Folder string // where all is written
	Binary string // the program that converts what Go cannot encode
	Corpus string // a folder of real pictures, or empty
	Names  int    // under how many names each picture is there
	Scale  int    // by how much sides are divided; 1 for the sizes the kinds promise
}

// Make writes all kinds.
func (p Plan) Make(ctx context.Context) (*Set, error) {
	folder := p.Folder
	s := &Set{Root: filepath.Join(folder, "root"), rings: map[string]*Ring{}, files: map[string]string{}}
	originals := filepath.Join(folder, "originals")
	for _, each := range []string{originals, s.Root} {
		if err := os.MkdirAll(each, 0o755); err != nil {
			return nil, fmt.Errorf("make folder for pictures: %w", err)
		}
	}
	if err := s.paint(originals, p.Scale); err != nil {
		return nil, err
	}
	if err := s.convert(ctx, originals, p.Binary); err != nil {
		return nil, err
	}
	if p.Corpus != "" {
		if data, err := os.ReadFile(filepath.Join(p.Corpus, "images", "photo-12mp-canon.jpg")); err == nil {
			if err := s.write(originals, Camera, ".jpg", data); err != nil {
				return nil, err
			}
		}
	}
	for kind, file := range s.files {
		ring, err := newRing(s.Root, kind, file, p.Names)
		if err != nil {
			return nil, err
		}
		s.rings[kind] = ring
	}
	return s, s.layBombs()
}

// paint makes those that Go can encode, as many at once as there are cores.
func (s *Set) paint(folder string, scale int) error {
	photo := func(w, h int) func() ([]byte, error) {
		return func() ([]byte, error) { return photo(w/scale, h/scale), nil }
	}
	jobs := []struct {
		kind, ending string
		make         func() ([]byte, error)
	}{
		{Photo24, ".jpg", photo(6000, 4000)},
		{Photo12, ".jpg", photo(4000, 3000)},
		{Alpha, ".png", func() ([]byte, error) { return alphaPNG(3000/scale, 2250/scale) }},
		{Photo6, ".jpg", photo(2725, 2225)},
		{GIF, ".gif", func() ([]byte, error) { return animation(600/scale, 400/scale, 40) }},
		{Small, ".jpg", photo(90*scale, 60*scale)},
	}
	faults := make([]error, len(jobs))
	made := make([][]byte, len(jobs))
	var group sync.WaitGroup
	for i, job := range jobs {
		group.Go(func() { made[i], faults[i] = job.make() })
	}
	group.Wait()
	for i, job := range jobs {
		if faults[i] == nil {
			faults[i] = s.write(folder, job.kind, job.ending, made[i])
		}
	}
	return errors.Join(faults...)
}

func (s *Set) write(folder, kind, ending string, data []byte) error {
	s.files[kind] = filepath.Join(folder, kind+ending)
	if err := os.WriteFile(s.files[kind], data, 0o644); err != nil {
		return fmt.Errorf("write picture: %w", err)
	}
	return nil
}

// convert makes the others with the program under test, outside any measurement.
func (s *Set) convert(ctx context.Context, folder, binary string) error {
	for _, each := range []struct{ kind, from, ending, flags string }{
		{Progressive, Photo12, ".jpg", "--format jpeg --quality 90 --set progressive=true"},
		{WebP, Photo6, ".webp", "--format webp --quality 85"},
		{AVIF, Photo6, ".avif", "--format avif --quality 60"},
	} {
		out := filepath.Join(folder, "to-"+each.kind)
		arguments := append([]string{"convert", s.files[each.from], "-o", out}, strings.Fields(each.flags)...)
		if text, err := exec.CommandContext(ctx, binary, arguments...).CombinedOutput(); err != nil {
			return fmt.Errorf("convert to %s: %w: %s", each.kind, err, text)
		}
		s.files[each.kind] = filepath.Join(folder, each.kind+each.ending)
		if err := os.Rename(filepath.Join(out, each.from+each.ending), s.files[each.kind]); err != nil {
			return fmt.Errorf("convert to %s: %w", each.kind, err)
		}
	}
	return nil
}

// Bomb is a file that is far larger than it looks.
type Bomb struct{ Name, Key string }

// Bombs are in the root, each once.
func Bombs() []Bomb {
	return []Bomb{
		{"progressive JPEG, 300 megapixels", "bombs/scans.jpg"},
		{"PNG, 65,535 x 65,535", "bombs/giant.png"},
		{"PNG, 400 megapixels that are all there", "bombs/deflated.png"},
		{"WebP, 16,383 x 16,383", "bombs/solid.webp"},
		{"GIF canvas, 65,535 x 65,535", "bombs/giant.gif"},
		{"GIF, 3,000 frames", "bombs/frames.gif"},
		{"progressive JPEG, 800 scans", "bombs/passes.jpg"},
		{"PNG whose profile is 1 GB", "bombs/profile.png"},
	}
}

func (s *Set) layBombs() error {
	folder := filepath.Join(s.Root, "bombs")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make folder for bombs: %w", err)
	}
	for name, data := range map[string][]byte{
		"scans.jpg":    testpictures.ScanBombJPEG(17328, 12),
		"giant.png":    testpictures.GiantPNG(65535, 65535),
		"deflated.png": testpictures.DeflatedPNG(20000, 20000),
		"solid.webp":   testpictures.SolidWebP(16383, 16383, color.NRGBA{R: 90, A: 255}),
		"giant.gif":    testpictures.GiantGIF(65535, 65535),
		"frames.gif":   testpictures.FrameBombGIF(1000, 1000, 3000),
		"passes.jpg":   testpictures.ScanBombJPEG(1024, 800),
		"profile.png":  testpictures.ProfileBombPNG(1 << 30),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
			return fmt.Errorf("write bomb: %w", err)
		}
	}
	return nil
}
