package demo

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"
)

// version names what the painters make. Raise it whenever a picture changes,
// so that folders filled by an older build are painted anew.
const version = "3"

// marker is the file that remembers which version filled a folder. Its leading
// dot keeps it out of the list of pictures.
const marker = ".spillway-demo"

// Ensure makes dir hold the demo pictures of this build. It paints those that
// are missing, or all of them when another version filled the folder, and
// leaves every other file alone. A picture appears whole or not at all, and
// none appears once ctx has ended: what is being painted then, a part of a
// second's work, is thrown away.
func Ensure(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make demo folder: %w", err)
	}
	current := readMarker(dir) == version
	var painters errgroup.Group
	painters.SetLimit(runtime.GOMAXPROCS(0))
	for _, p := range pictures {
		if current && exists(filepath.Join(dir, p.Key)) {
			continue
		}
		painters.Go(func() error {
			if err := write(ctx, dir, p); err != nil {
				return fmt.Errorf("paint %s: %w", p.Key, err)
			}
			return nil
		})
	}
	if err := painters.Wait(); err != nil || current {
		return err
	}
	return replace(filepath.Join(dir, marker), []byte(version+"\n"))
}

func readMarker(dir string) string {
	b, err := os.ReadFile(filepath.Join(dir, marker))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func exists(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular() && fi.Size() > 0
}

func write(ctx context.Context, dir string, p Picture) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var out bytes.Buffer
	if err := p.paint(&out); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return replace(filepath.Join(dir, p.Key), out.Bytes())
}

// replace writes a neighbour and renames it, so that a reader of path never
// sees a part of the bytes.
func replace(path string, b []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".spillway-*")
	if err != nil {
		return fmt.Errorf("create temporary file: %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // fails, harmlessly, after the rename
	_, err = tmp.Write(b)
	if err == nil {
		err = tmp.Chmod(0o644)
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write demo file: %w", err)
	}
	return nil
}
