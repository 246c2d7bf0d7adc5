package site

import (
	"bytes"
	"context"
	"fmt"
	"image"
	_ "image/png" // some of the paintings are
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"golang.org/x/image/draw"

	"github.com/spillway-media/spillway/h2/priority"
	"github.com/spillway-media/spillway/internal/progressive"
	"github.com/spillway-media/spillway/internal/testpictures"
	"github.com/spillway-media/spillway/internal/web/demo"
)

// Picture is a progressive JPEG with what its bytes are good for.
type Picture struct {
	Name          string
	Width, Height int
	Data          []byte
	Sizes         progressive.Sizes
}

// Marks are where the header, the preview, the good part and all of it end.
func (p *Picture) Marks() []int64 {
	header := p.Sizes.Of(priority.Header)
	preview := header + p.Sizes.Of(priority.Preview)
	return []int64{header, preview, preview + p.Sizes.Of(priority.Good), int64(len(p.Data))}
}

// Plan says what set of pictures to make.
type Plan struct {
	Binary string // the program that writes progressive JPEGs, as it does for its clients
	Folder string // for what is written on the way
	Count  int
	Seed   uint64
}

// The sizes of pictures on a page: lognormal around 60 KB, cut at both ends.
const (
	medianSize = 60e3
	sigma      = 0.8
	smallest   = 8e3
	largest    = 400e3
)

// draft is a picture that is to be: a part of a painting, scaled so that its
// file comes to about the size that was drawn for it.
type draft struct {
	painting int
	part     image.Rectangle
	bytes    float64
	pixels   float64
}

// Make paints, cuts and encodes the set. It encodes twice: once to see how many
// bytes a pixel of each costs, and once at the size that follows from it.
func (p Plan) Make(ctx context.Context) ([]*Picture, error) {
	paintings, err := p.paintings(ctx)
	if err != nil {
		return nil, err
	}
	drafts := p.draw(paintings)
	var made []*Picture
	for pass := range 2 {
		if made, err = p.encode(ctx, fmt.Sprintf("pass-%d", pass), paintings, drafts); err != nil {
			return nil, err
		}
		for i, picture := range made {
			drafts[i].pixels = clamp(drafts[i].pixels*drafts[i].bytes/float64(len(picture.Data)), 60*60, 1800*1800)
		}
	}
	for _, picture := range made {
		picture.Sizes = progressive.Measure("jpeg", picture.Data)
		if picture.Sizes.Of(priority.Rest) == 0 {
			return nil, fmt.Errorf("measure phases of %s: it has none: %v", picture.Name, picture.Sizes)
		}
	}
	return made, nil
}

// paintings are those of the playground that cover their canvas, and one with
// the statistics of a photograph.
func (p Plan) paintings(ctx context.Context) ([]*image.RGBA, error) {
	folder := filepath.Join(p.Folder, "paintings")
	if err := demo.Ensure(ctx, folder); err != nil {
		return nil, fmt.Errorf("paint pictures: %w", err)
	}
	names := []string{"mountain-lake.jpg", "red-sail.jpg", "dew.jpg", "aurora-16bit.png", "riverbed.jpg"}
	all := []*image.RGBA{rgba(testpictures.Photo(1200, 800))}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, fmt.Errorf("read painting: %w", err)
		}
		img, _, err := image.Decode(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("read painting %s: %w", name, err)
		}
		all = append(all, rgba(img))
	}
	return all, nil
}

// rgba copies an image into the form in which all of them are cut.
func rgba(img image.Image) *image.RGBA {
	out := image.NewRGBA(image.Rect(0, 0, img.Bounds().Dx(), img.Bounds().Dy()))
	draw.Copy(out, image.Point{}, img, img.Bounds(), draw.Src, nil)
	return out
}

// draw chooses sizes and parts by the seed.
func (p Plan) draw(paintings []*image.RGBA) []draft {
	random := rand.New(rand.NewPCG(p.Seed, 7))
	sizes := make([]float64, p.Count)
	for i := range sizes {
		sizes[i] = clamp(medianSize*math.Exp(sigma*random.NormFloat64()), smallest, largest)
	}
	drafts := make([]draft, p.Count)
	for i := range drafts {
		d := &drafts[i]
		d.bytes = sizes[i]
		d.pixels = d.bytes / 0.15
		d.painting = i % len(paintings)
		whole := paintings[d.painting].Bounds()
		zoom := 0.5 + 0.5*random.Float64()
		h := int(zoom * float64(min(whole.Dy(), whole.Dx()*3/4)))
		w := h * 4 / 3
		x, y := random.IntN(whole.Dx()-w+1), random.IntN(whole.Dy()-h+1)
		d.part = image.Rect(x, y, x+w, y+h)
	}
	return drafts
}

// encode writes every draft as a file and lets the program make a progressive
// JPEG of each.
func (p Plan) encode(ctx context.Context, name string, paintings []*image.RGBA, drafts []draft) ([]*Picture, error) {
	in, out := filepath.Join(p.Folder, name, "in"), filepath.Join(p.Folder, name, "out")
	if err := os.MkdirAll(in, 0o755); err != nil {
		return nil, fmt.Errorf("make folder for pictures: %w", err)
	}
	pictures := make([]*Picture, len(drafts))
	faults := make(chan error, len(drafts))
	var group sync.WaitGroup
	turns := make(chan struct{}, 2)
	for i, d := range drafts {
		pictures[i] = &Picture{Name: fmt.Sprintf("%03d.jpg", i)}
		group.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			img := d.scaled(paintings[d.painting], uint64(i))
			pictures[i].Width, pictures[i].Height = img.Bounds().Dx(), img.Bounds().Dy()
			if err := os.WriteFile(filepath.Join(in, pictures[i].Name), testpictures.JPEG(img, 95), 0o644); err != nil {
				faults <- fmt.Errorf("write draft: %w", err)
			}
		})
	}
	group.Wait()
	close(faults)
	if err := <-faults; err != nil {
		return nil, err
	}
	convert := exec.CommandContext(ctx, p.Binary, "convert", in, "--recursive", "-o", out, "--format", "jpeg", "--quality", "80", "--set", "progressive=true")
	if text, err := convert.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("encode pictures: %w: %.500s", err, text)
	}
	for _, picture := range pictures {
		data, err := os.ReadFile(filepath.Join(out, picture.Name))
		if err != nil {
			return nil, fmt.Errorf("read encoded picture: %w", err)
		}
		picture.Data = data
	}
	return pictures, nil
}

// scaled is the part at its size, with the noise that every sensor adds:
// without it a file would be far smaller than that of a photograph.
func (d draft) scaled(painting *image.RGBA, seed uint64) *image.RGBA {
	h := int(math.Sqrt(d.pixels * 3 / 4))
	w := h * 4 / 3
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.ApproxBiLinear.Scale(img, img.Bounds(), painting, d.part, draw.Src, nil)
	random := rand.New(rand.NewPCG(seed, 11))
	fine, coarse := make([]int, w/2+1), make([]int, w/8+1)
	for y := range h {
		if y%2 == 0 {
			throw(random, fine, 8)
		}
		if y%8 == 0 {
			throw(random, coarse, 14)
		}
		for x := range w {
			grain := fine[x/2] + coarse[x/8]
			for c := range 3 {
				at := y*img.Stride + 4*x + c
				img.Pix[at] = uint8(min(max(int(img.Pix[at])+grain, 0), 255))
			}
		}
	}
	return img
}

// throw fills grains with noise from -most to most.
func throw(random *rand.Rand, grains []int, most int) {
	for i := range grains {
		grains[i] = random.IntN(2*most+1) - most
	}
}

func clamp(v, low, high float64) float64 { return min(max(v, low), high) }
