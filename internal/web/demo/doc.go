// Package demo paints the pictures that the playground opens with, so that a
// fresh checkout has something worth resizing and nobody else's picture ships.
//
// Start in ensure.go (what is written, and when), then pictures.go (the list);
// each picture has a file of its own over paint.go, noise.go and shape.go.
// State: none; equal input gives equal bytes, and noise comes from a hash.
// Ensure blocks on the disk and paints for some seconds, once a version.
// Nothing here reads a picture, a clock or the network.
// Limits: one picture a core is held at a time, each at most 31 MB of pixels.
package demo
