package web

import (
	"encoding/json"
	"errors"
	"image"
	_ "image/gif"  // sizes of the formats the standard library knows
	_ "image/jpeg" // the same
	_ "image/png"  // the same
	"io/fs"
	"path"
	"sort"
	"strings"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/web/demo"
)

// Bounds of looking through a root that may be anything.
const (
	maxPictures = 60
	maxLooked   = 2000
	maxDepth    = 4
)

// extensions are those of picture files worth offering.
var extensions = map[string]bool{
	".jpg": true, ".jpeg": true, ".png": true, ".gif": true, ".webp": true, ".avif": true, ".heic": true,
	".jxl": true, ".tif": true, ".tiff": true, ".svg": true, ".bmp": true, ".jp2": true,
}

// listing is the body of /demo.json.
type listing struct {
	Demo     bool      `json:"demo"`
	Signed   bool      `json:"signed"`
	Version  string    `json:"version,omitempty"`
	Formats  []choice  `json:"formats"`
	Pictures []picture `json:"pictures"`
}

type choice struct {
	Format    media.Format `json:"format"`
	Available bool         `json:"available"`
}

// picture is one entry. Width and Height are as stored and 0 when the header
// is of a format that is not read here; /info tells them.
type picture struct {
	Key    string `json:"key"`
	Title  string `json:"title"`
	Note   string `json:"note,omitempty"`
	Bytes  int64  `json:"bytes"`
	Width  int    `json:"width,omitempty"`
	Height int    `json:"height,omitempty"`
}

func (p *Playground) list() file {
	out := listing{Demo: p.config.Demo, Signed: p.config.Signed, Version: p.config.Version, Pictures: []picture{}}
	for _, f := range media.OutputFormats() {
		out.Formats = append(out.Formats, choice{f, p.config.Abilities.Write[f]})
	}
	switch {
	case p.config.Root == nil:
	case p.config.Demo:
		out.Pictures = demoPictures(p.config.Root)
	default:
		out.Pictures = rootPictures(p.config.Root)
	}
	body, err := json.Marshal(out)
	if err != nil { // cannot happen: strings and numbers
		body = []byte("{}")
	}
	return file{body, "application/json", tag(body)}
}

func demoPictures(root fs.FS) []picture {
	out := []picture{}
	for _, d := range demo.Pictures() {
		if p, ok := look(root, d.Key); ok {
			p.Title, p.Note = d.Title, d.Note
			out = append(out, p)
		}
	}
	return out
}

// errEnough ends a walk early.
var errEnough = errors.New("enough")

// rootPictures offers the first pictures of a folder in the order of names.
// What cannot be read is passed over: the list is a convenience.
func rootPictures(root fs.FS) []picture {
	out := []picture{}
	looked := 0
	_ = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		looked++
		if looked > maxLooked || len(out) >= maxPictures {
			return errEnough
		}
		if err != nil || d.IsDir() {
			return enter(name, err)
		}
		if !offered(name, d) {
			return nil
		}
		if p, ok := look(root, name); ok {
			out = append(out, p)
		}
		return nil
	})
	sort.SliceStable(out, func(i, j int) bool { return out[i].Key < out[j].Key })
	return out
}

// enter says whether a folder is walked: those that cannot be read, are
// hidden or lie too deep are not.
func enter(name string, err error) error {
	if err != nil || hidden(name) || (name != "." && strings.Count(name, "/") >= maxDepth-1) {
		return fs.SkipDir
	}
	return nil
}

func offered(name string, d fs.DirEntry) bool {
	return d.Type().IsRegular() && !hidden(name) && extensions[strings.ToLower(path.Ext(name))]
}

func hidden(name string) bool { return name != "." && strings.HasPrefix(path.Base(name), ".") }

func look(root fs.FS, key string) (picture, bool) {
	f, err := root.Open(key)
	if err != nil {
		return picture{}, false
	}
	defer func() { _ = f.Close() }() // only read
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		return picture{}, false
	}
	p := picture{Key: key, Title: path.Base(key), Bytes: fi.Size()}
	if c, _, err := image.DecodeConfig(f); err == nil {
		p.Width, p.Height = c.Width, c.Height
	}
	return p, true
}
