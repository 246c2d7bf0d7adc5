package vips

// #include "bridge.h"
import "C"

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/spillway-media/spillway/internal/sandbox"
	"github.com/spillway-media/spillway/internal/transform"
)

// quiet is how long nothing must be asked of a helper before it gives the
// system back what its last task has freed. In the midst of work the next one
// would take it all again, page by page.
const quiet = 500 * time.Millisecond

// greedy is the allowance of a task that took so much that it is given back
// even when the next one waits already: one of some four megapixels.
const greedy = 512 << 20

// Work makes this process a helper: it confines itself, and encodes what its
// parent sends until that closes the socket.
func Work() error {
	parent, err := sandbox.Confine()
	if err != nil {
		return err
	}
	defer func() { _ = parent.Close() }()
	for {
		idle := time.AfterFunc(quiet, func() { C.spw_trim_memory() })
		task, parcel, err := receive(parent)
		idle.Stop()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = encode(parent, task, parcel)
		}
		if err != nil {
			return err
		}
		if task.memory > greedy {
			C.spw_trim_memory()
		}
	}
}

// receive waits for a task and gives the descriptor of its parcel.
func receive(parent *net.UnixConn) (task, int, error) {
	packed, control := make([]byte, taskBytes), make([]byte, syscall.CmsgSpace(4))
	n, controls, _, _, err := parent.ReadMsgUnix(packed, control)
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		return task{}, 0, fmt.Errorf("receive task: %w", err)
	}
	if _, err := io.ReadFull(parent, packed[n:]); err != nil {
		return task{}, 0, fmt.Errorf("receive task: %w", err)
	}
	parcel, err := descriptor(control[:controls])
	return unpackTask(packed), parcel, err
}

func descriptor(control []byte) (int, error) {
	messages, err := syscall.ParseSocketControlMessage(control)
	if err != nil || len(messages) != 1 {
		return 0, fmt.Errorf("receive parcel: %d messages, %w", len(messages), err)
	}
	files, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(files) != 1 {
		return 0, fmt.Errorf("receive parcel: %d files, %w", len(files), err)
	}
	return files[0], nil
}

// encode carries out one task and answers it. The error is one of the socket;
// that an encode fails is part of the answer.
func encode(parent io.Writer, t task, parcel int) error {
	defer func() { _ = syscall.Close(parcel) }()
	startOnce.Do(func() { errStart = start(Config{ConcurrencyPerJob: t.threads}) })
	if errStart != nil {
		return errStart
	}
	if err := sandbox.Allow(sandbox.Limits{CPU: t.cpu, Memory: t.memory}); err != nil {
		return err
	}
	w := bufio.NewWriterSize(parent, 64<<10)
	r := &run{begin: func(_ int, made transform.Made) (io.Writer, error) {
		quality := binary.BigEndian.AppendUint32(nil, uint32(made.Quality))
		return framer{w}, writeFrame(w, frameBegin, quality)
	}}
	stage := r.call(context.Background(), func() C.int { return C.spw_encode(&r.job, C.int(parcel)) })
	words := C.GoString(&r.job.message[0])
	end := append([]byte{byte(stage)}, words[:min(len(words), longestWords)]...)
	return errors.Join(writeFrame(w, frameEnd, end), w.Flush())
}

// framer frames encoded bytes.
type framer struct{ w io.Writer }

// Write implements io.Writer.
func (f framer) Write(p []byte) (int, error) {
	if err := writeFrame(f.w, frameData, p); err != nil {
		return 0, err
	}
	return len(p), nil
}
