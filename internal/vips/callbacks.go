package vips

// #include "bridge.h"
import "C"

import (
	"runtime/cgo"
	"unsafe"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/progressive"
	"github.com/spillway-media/spillway/internal/transform"
)

func runOf(handle C.uintptr_t) *run { return cgo.Handle(handle).Value().(*run) }

// spillwayBegin announces an output, right before its first byte.
//
//export spillwayBegin
func spillwayBegin(handle C.uintptr_t, index, width, height, frames, quality C.int) C.int {
	r := runOf(handle)
	r.err = r.announce(int(index), transform.Made{
		Width: int(width), Height: int(height), Frames: int(frames), Quality: int(quality),
	})
	return flagOf(r.err != nil)
}

// announce gets the writer of an output.
func (r *run) announce(index int, made transform.Made) error {
	if err := r.endOutput(); err != nil {
		return err
	}
	writer, err := r.begin(index, made)
	if err != nil {
		return err
	}
	r.writer = writer
	if r.movesMetadata(index) {
		r.reorder = progressive.NewFrameFirst(writer)
		r.writer = r.reorder
	}
	return nil
}

// movesMetadata tells whether an output's frame header goes ahead of what is
// kept, but for EXIF: a colour profile would hold the layout of a page up. A
// helper has no plan; JPEG is never encoded there.
func (r *run) movesMetadata(index int) bool {
	if r.plan == nil {
		return false
	}
	e := r.plan.Outputs[index].Encode
	return e.Format == media.JPEG && e.Progressive && e.Keep != media.Keep{}
}

// endOutput is called when an output has all of its bytes.
func (r *run) endOutput() error {
	last := r.reorder
	r.reorder = nil
	if last == nil {
		return nil
	}
	return last.Close()
}

// spillwayWrite hands on encoded bytes; data is C's and valid for this call.
//
//export spillwayWrite
func spillwayWrite(handle C.uintptr_t, data unsafe.Pointer, length C.longlong) C.longlong {
	r := runOf(handle)
	n, err := r.writer.Write(unsafe.Slice((*byte)(data), int(length)))
	if err != nil {
		r.err = err
		return -1
	}
	return C.longlong(n)
}

// spillwayLayOut lays output index out anew for another size of its source.
//
//export spillwayLayOut
func spillwayLayOut(handle C.uintptr_t, index, width, height C.int, layout *C.SpwLayout) C.int {
	r := runOf(handle)
	next, err := r.plan.LayOut(int(index), int(width), int(height))
	if err != nil {
		r.err = err
		return 1
	}
	*layout = layoutOf(next)
	return 0
}
