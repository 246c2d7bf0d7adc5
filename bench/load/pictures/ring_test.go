package pictures_test

import (
	"image"
	"os"
	"path/filepath"
	"testing"

	_ "image/jpeg" // to read what was made
	_ "image/png"

	"github.com/spillway-media/spillway/bench/load/pictures"
)

// copier stands in for the program that converts: it copies its input to the
// name under which the other format is expected.
const copier = `#!/bin/sh
in=$2; out=$4; format=$6
mkdir -p "$out"
case "$format" in jpeg) format=jpg ;; esac
name=$(basename "$in" .jpg)
cp "$in" "$out/$name.$format"
`

func TestSetHasEveryKindUnderManyNames(t *testing.T) {
	folder := t.TempDir()
	binary := filepath.Join(folder, "copier")
	if err := os.WriteFile(binary, []byte(copier), 0o755); err != nil {
		t.Fatal(err)
	}
	set, err := pictures.Plan{Folder: folder, Binary: binary, Names: 50, Scale: 25}.Make(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, kind := range append(pictures.Mixed(), pictures.Small) {
		for range 50 {
			key := set.Next(kind)
			if seen[key] {
				t.Fatalf("%s was given away twice", key)
			}
			seen[key] = true
			if _, err := os.Stat(filepath.Join(set.Root, key)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for kind, want := range map[string]image.Point{
		pictures.Photo12: {X: 160, Y: 120}, pictures.Photo6: {X: 109, Y: 89},
		pictures.Photo24: {X: 240, Y: 160}, pictures.Alpha: {X: 120, Y: 90},
	} {
		file, err := os.Open(set.File(kind))
		if err != nil {
			t.Fatal(err)
		}
		config, _, err := image.DecodeConfig(file)
		_ = file.Close()
		if err != nil || config.Width != want.X || config.Height != want.Y {
			t.Errorf("%s is %dx%d, %v; want %v", kind, config.Width, config.Height, err, want)
		}
	}
	for _, bomb := range pictures.Bombs() {
		if _, err := os.Stat(filepath.Join(set.Root, bomb.Key)); err != nil {
			t.Error(err)
		}
	}
	if set.Has(pictures.Camera) {
		t.Error("there is a camera's picture without a corpus")
	}
}
