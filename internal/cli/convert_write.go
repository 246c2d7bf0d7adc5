package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spillway-media/spillway/internal/app"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/transform"
)

// converter turns one input after the other into files.
type converter struct {
	local   *app.Local
	request media.Request
	out     string
	names   *names
}

// names keeps results from lying over inputs and over each other.
type names struct {
	inputs []os.FileInfo

	mu    sync.Mutex
	taken map[string]string // by path of a result, the input it is of
}

func newNames(work []input) *names {
	n := &names{taken: map[string]string{}}
	for _, in := range work {
		if facts, err := os.Stat(in.path); err == nil {
			n.inputs = append(n.inputs, facts)
		}
	}
	return n
}

// take reserves path for a result of in.
func (n *names) take(path string, in input) error {
	if facts, err := os.Stat(path); err == nil {
		for _, original := range n.inputs {
			if os.SameFile(facts, original) {
				return fmt.Errorf("the result %s would lie over an original; choose another --out", path)
			}
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if other, ok := n.taken[path]; ok {
		return fmt.Errorf("the result %s is also that of %s", path, other)
	}
	n.taken[path] = in.path
	return nil
}

// convert makes all results of one input. They appear together, each whole,
// once the last is written; after a fault there is none.
func (c *converter) convert(ctx context.Context, in input) outcome {
	began := time.Now()
	made, err := c.make(ctx, in)
	if err != nil {
		return failed(in.path, err)
	}
	return outcome{Input: in.path, OK: true, Outputs: made, Seconds: time.Since(began).Seconds()}
}

func (c *converter) make(ctx context.Context, in input) (made []madeFile, err error) {
	if in.fault != nil {
		return nil, in.fault
	}
	request := c.request
	request.Format = in.format(request.Format)
	result, err := c.local.Do(ctx, transform.Job{Ref: in.path, Request: request})
	if err != nil {
		return nil, err
	}
	defer result.Close()
	folder := filepath.Join(c.out, in.folder)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("make folder for results: %w", err)
	}
	var staged staging
	defer staged.discard()
	for i, output := range result.Outputs {
		path := filepath.Join(folder, c.name(in, i, result.Format))
		if err := c.names.take(path, in); err != nil {
			return nil, err
		}
		file, err := staged.write(ctx, path, output)
		if err != nil {
			return nil, err
		}
		file.Format = result.Format
		made = append(made, file)
	}
	return made, staged.publish()
}

// name is NAME-WxH.ext with the size as it was asked for, or NAME.ext when
// the original size is kept.
func (c *converter) name(in input, index int, format media.Format) string {
	size := c.request.Sizes[index]
	if size == (media.Size{}) {
		return in.stem + "." + format.Extension()
	}
	return fmt.Sprintf("%s-%dx%d.%s", in.stem, size.Width, size.Height, format.Extension())
}

// staging holds results under temporary names beside their own.
type staging struct{ files [][2]string } // temporary name, own name

func (s *staging) write(ctx context.Context, path string, output *transform.Output) (madeFile, error) {
	made, err := output.Ready(ctx)
	if err != nil {
		return madeFile{}, err
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), ".spillway-*")
	if err != nil {
		return madeFile{}, fmt.Errorf("create result: %w", err)
	}
	s.files = append(s.files, [2]string{temporary.Name(), path})
	reader := output.Reader(ctx)
	n, err := io.Copy(temporary, reader)
	// Results are for everybody to read, as if a shell had made them.
	err = errors.Join(err, reader.Close(), temporary.Chmod(0o644), temporary.Close())
	if err != nil {
		return madeFile{}, fmt.Errorf("write %s: %w", path, err)
	}
	return madeFile{Path: path, Width: made.Width, Height: made.Height, Bytes: n}, nil
}

func (s *staging) publish() error {
	for i, file := range s.files {
		if err := os.Rename(file[0], file[1]); err != nil {
			s.files = s.files[i:]
			return fmt.Errorf("name result: %w", err)
		}
	}
	s.files = nil
	return nil
}

func (s *staging) discard() {
	for _, file := range s.files {
		_ = os.Remove(file[0])
	}
}
