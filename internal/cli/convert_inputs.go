package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spillway-media/spillway/internal/media"
)

// input is one file to convert.
type input struct {
	path string
	// folder is where its results go below the folder for all results.
	folder string
	stem   string // the file's name without its ending
	// own is the format of the file when results can have it, else Auto.
	own media.Format
	// fault, when set, is why the file cannot be converted.
	fault error
}

// findInputs lists the files that paths mean, in their order. What cannot be
// looked at is a fault of its own and stops nothing.
func findInputs(paths []string, out string, recursive bool) (work []input, faults []outcome) {
	for _, path := range paths {
		facts, err := os.Stat(path)
		switch {
		case err != nil:
			work = append(work, newInput(path, ""))
		case !facts.IsDir():
			work = append(work, newInput(path, ""))
		case !recursive:
			faults = append(faults, failed(path, errors.New("is a folder; give --recursive to go into it")))
		default:
			found, unread := walk(path, out)
			work, faults = append(work, found...), append(faults, unread...)
		}
	}
	return work, faults
}

// walk finds the pictures below root, except those below out, which may be
// the results of an earlier run. A folder that cannot be read is a fault of
// its own.
func walk(root, out string) (found []input, faults []outcome) {
	isOut := same(out)
	root = strings.TrimSuffix(root, "/") + "/" // a link is followed with it only
	_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			faults = append(faults, failed(path, errors.New("cannot be read")))
		case entry.IsDir() && isOut(entry):
			if path == root {
				faults = append(faults, failed(path, errors.New("is the folder for the results; choose another --out")))
			}
			return fs.SkipDir
		case entry.Type().IsRegular() && media.IsPictureName(path):
			// A path below root is always relative to it.
			folder, _ := filepath.Rel(root, filepath.Dir(path))
			found = append(found, newInput(path, folder))
		}
		return nil
	})
	return found, faults
}

// same tells of entries whether they are the folder at path, which need not
// be there.
func same(path string) func(fs.DirEntry) bool {
	wanted, err := os.Stat(path)
	return func(entry fs.DirEntry) bool {
		facts, infoErr := entry.Info()
		return err == nil && infoErr == nil && os.SameFile(facts, wanted)
	}
}

func newInput(path, folder string) input {
	name := filepath.Base(path)
	return input{path: path, folder: folder, stem: strings.TrimSuffix(name, filepath.Ext(name)), own: ownFormat(path)}
}

// ownFormat looks at a file's first bytes. Anything odd is left for the
// conversion to find, which tells it better.
func ownFormat(path string) media.Format {
	facts, err := os.Stat(path)
	if err != nil || !facts.Mode().IsRegular() {
		return media.Auto
	}
	file, err := os.Open(path)
	if err != nil {
		return media.Auto
	}
	defer func() { _ = file.Close() }()
	head := make([]byte, 4096)
	n, err := io.ReadFull(file, head)
	if format := media.Sniff(head[:n]); (err == nil || n > 0) && format.IsOutput() {
		return format
	}
	return media.Auto
}

// claim gives every name of results to one input. Originals that differ in
// their endings only keep them, all of them, so that no name depends on the
// order; of two that share a whole name the second is refused, whichever
// would be done first.
func claim(work []input, format media.Format) {
	names := map[string]map[string]bool{} // by key, the whole names that lead to it
	for _, in := range work {
		key := in.key(format)
		if names[key] == nil {
			names[key] = map[string]bool{}
		}
		names[key][filepath.Base(in.path)] = true
	}
	for i, in := range work {
		if len(names[in.key(format)]) > 1 {
			work[i].stem = filepath.Base(in.path)
		}
	}
	first := map[string]string{}
	for i := range work {
		key := work[i].key(format)
		if other, taken := first[key]; taken {
			work[i].fault = fmt.Errorf("its results would have the names of those of %s", shown(other))
			continue
		}
		first[key] = work[i].path
	}
}

// key stands for the names of an input's results.
func (in input) key(format media.Format) string {
	return filepath.Join(in.folder, in.stem) + "." + string(in.format(format))
}

// format is what to ask for: what the user wants, else the file's own.
func (in input) format(wish media.Format) media.Format {
	if wish == media.Auto {
		return in.own
	}
	return wish
}
