// Package testpictures makes the pictures that the tests of this repository
// read, so that none has to be shipped and every right answer is known by
// construction rather than by trusting a decoder.
//
// Start in scene.go (what the pictures show), then the file of the format:
// jpeg.go, exif.go, cmyk.go, png.go, gif.go, webp.go, tiff.go, svg.go;
// icc.go builds colour profiles, bombs.go and disguises.go hostile input.
// State: none; every function is pure, and equal arguments give equal bytes.
// Nothing here blocks, reads a file or uses any codec outside the standard
// library; a fault in an encoder is a fault of this package and panics.
// Limits: pictures are built in memory; the bombs are small until decoded.
package testpictures
