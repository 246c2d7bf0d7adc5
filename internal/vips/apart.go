package vips

// #include "bridge.h"
import "C"

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
	"unsafe"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/sandbox"
	"github.com/spillway-media/spillway/internal/transform"
)

// longestStep is how long an encoder may go on in this process after its run
// has ended.
const longestStep = 100 * time.Millisecond

// apartFrom is how many pixels a frame must have for its encoder to run in a
// helper; 0 means that none must.
func apartFrom(encode media.Encode, alpha bool) int64 {
	step := encode.Step(alpha)
	if step <= 0 {
		return 0
	}
	return int64(longestStep / step)
}

// spillwayEncode has a helper encode the parcel of an output, whose descriptor
// it closes, and hands on what comes back. It gives the stage where that ended.
//
//export spillwayEncode
func spillwayEncode(handle C.uintptr_t, index, width, height, frames, file C.int, message *C.char, length C.int) C.int {
	r := runOf(handle)
	parcel := os.NewFile(uintptr(file), "parcel")
	stage, err := r.encodeApart(int(index), transform.Made{
		Width: int(width), Height: int(height), Frames: int(frames),
	}, parcel)
	if err != nil {
		words := unsafe.Slice((*byte)(unsafe.Pointer(message)), int(length)-1)
		copy(words, err.Error())
	}
	return stage
}

func (r *run) encodeApart(index int, made transform.Made, parcel *os.File) (C.int, error) {
	r.writer = nil
	helper, err := r.helpers.take()
	if err != nil {
		_ = parcel.Close()
		return C.SPW_ENCODE, err
	}
	if r.employ(helper) {
		helper.Kill()
	}
	err = assign(helper, r.allowance(index, made), parcel)
	answer := &answer{run: r, index: index, made: made, stage: C.SPW_ENCODE}
	if err == nil {
		err = answer.read(bufio.NewReaderSize(helper.Conn, 64<<10))
	}
	if over := r.employ(nil); answer.ended && !over {
		r.helpers.giveBack(helper)
		return answer.stage, err
	}
	// Whatever happened, it is not known what the process does now.
	return answer.stage, errors.Join(err, r.helpers.end(helper))
}

// allowance is several times what the encode is expected to take.
func (r *run) allowance(index int, made transform.Made) task {
	encode := r.plan.Outputs[index].Encode
	pixels := int64(made.Width) * int64(made.Height)
	cpu := 10*time.Second + 8*encode.Step(true)*time.Duration(pixels*int64(made.Frames))
	return task{threads: r.helpers.threads, cpu: cpu, memory: 64<<20 + 128*pixels + 8*pixels*int64(made.Frames)}
}

// assign sends a task and closes the parcel here: the helper's is the only
// descriptor from then on, so the pixels go when it goes.
func assign(helper *sandbox.Helper, t task, parcel *os.File) error {
	defer func() { _ = parcel.Close() }()
	rights := syscall.UnixRights(int(parcel.Fd()))
	if _, _, err := helper.Conn.WriteMsgUnix(t.pack(), rights, nil); err != nil {
		return fmt.Errorf("assign: %w", err)
	}
	return nil
}

// answer is what comes back of one task.
type answer struct {
	run   *run
	index int
	made  transform.Made
	stage C.int
	ended bool // the helper has said that it is done
}

func (a *answer) read(r *bufio.Reader) error {
	for !a.ended {
		kind, length, err := readFrame(r)
		if err != nil {
			return err
		}
		if err := a.take(r, kind, length); err != nil {
			return err
		}
	}
	return nil
}

// take takes the payload of one frame.
func (a *answer) take(r *bufio.Reader, kind byte, length int64) error {
	switch kind {
	case frameBegin:
		var quality [4]byte
		if _, err := io.ReadFull(r, quality[:]); err != nil {
			return fmt.Errorf("read quality: %w", err)
		}
		a.made.Quality = int(binary.BigEndian.Uint32(quality[:]))
		return a.refuse(a.run.announce(a.index, a.made))
	case frameData:
		return a.copy(r, length)
	case frameEnd:
		return a.end(r, length)
	}
	return fmt.Errorf("read frame: kind %q", kind)
}

func (a *answer) copy(r *bufio.Reader, length int64) error {
	if a.run.writer == nil {
		return errors.New("read frame: bytes before their beginning")
	}
	piece := &pieces{r: r, left: length}
	_, err := io.Copy(a.run.writer, piece)
	if piece.err != nil {
		return fmt.Errorf("read bytes: %w", piece.err)
	}
	return a.refuse(err)
}

// refuse notes that the output is not wanted.
func (a *answer) refuse(err error) error {
	if err != nil {
		a.run.err = err
		a.stage = C.SPW_SINK
	}
	return err
}

func (a *answer) end(r io.Reader, length int64) error {
	if length < 1 || length > 1+longestWords {
		return fmt.Errorf("read end: %d bytes", length)
	}
	payload := make([]byte, length)
	if _, err := io.ReadFull(r, payload); err != nil {
		return fmt.Errorf("read end: %w", err)
	}
	a.ended, a.stage = true, C.int(payload[0])
	if a.stage != C.SPW_OK {
		return fmt.Errorf("%s", payload[1:])
	}
	return nil
}

// pieces reads the payload of a frame and tells its own errors from those of
// whom it is copied to.
type pieces struct {
	r    *bufio.Reader
	left int64
	err  error
}

// Read implements io.Reader.
func (p *pieces) Read(b []byte) (int, error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	n, err := p.r.Read(b[:min(int64(len(b)), p.left)])
	p.left -= int64(n)
	if err != nil {
		p.err = err
	}
	return n, err
}
