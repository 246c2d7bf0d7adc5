package vips

import (
	"encoding/binary"
	"fmt"
	"io"
	"time"
)

// What the two ends of a helper's socket say. A task is a fixed number of
// bytes with one descriptor beside them, that of the parcel; the answer is
// frames: a kind, the length of what follows, and that.
const (
	frameBegin = 'b' // the quality, as 4 bytes
	frameData  = 'd' // encoded bytes
	frameEnd   = 'e' // the stage where it ended, as a byte, and words for the log
)

// longestWords of a helper that go into the log.
const longestWords = 255

const (
	taskBytes  = 24
	frameBytes = 5
)

// task is what a helper may use: so many threads at a time, and so much time
// and memory beyond what it has used already.
type task struct {
	threads int
	cpu     time.Duration
	memory  int64 // bytes
}

func (t task) pack() []byte {
	packed := binary.BigEndian.AppendUint64(nil, uint64(t.threads))
	packed = binary.BigEndian.AppendUint64(packed, uint64(t.cpu))
	return binary.BigEndian.AppendUint64(packed, uint64(t.memory))
}

func unpackTask(packed []byte) task {
	number := func(at int) int64 { return int64(binary.BigEndian.Uint64(packed[at:])) }
	return task{threads: int(number(0)), cpu: time.Duration(number(8)), memory: number(16)}
}

// writeFrame writes a frame in two pieces: w is buffered.
func writeFrame(w io.Writer, kind byte, payload []byte) error {
	header := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(payload)))
	if _, err := w.Write(header); err != nil {
		return fmt.Errorf("write frame: %w", err)
	}
	if _, err := w.Write(payload); err != nil {
		return fmt.Errorf("write frame: %w", err)
	}
	return nil
}

// readFrame reads the head of a frame; the payload is next.
func readFrame(r io.Reader) (kind byte, length int64, err error) {
	var header [frameBytes]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, 0, fmt.Errorf("read frame: %w", err)
	}
	return header[0], int64(binary.BigEndian.Uint32(header[1:])), nil
}
