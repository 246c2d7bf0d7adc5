package vips

// #include "bridge.h"
import "C"

import (
	"runtime/cgo"
	"unsafe"

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
	var err error
	r.writer, err = r.begin(index, made)
	return err
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
