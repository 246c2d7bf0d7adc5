package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// found is one entry in a listing of the folder.
type found struct {
	name name
	cost int64
	used time.Time
}

// listFolder names the entries of a cache folder. It passes over whatever has
// another name or is no plain file, and what vanishes meanwhile.
func listFolder(dir string) ([]found, error) {
	fans, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list cache folder: %w", err)
	}
	var all []found
	for _, fan := range fans {
		if !fan.IsDir() || !fanPattern.MatchString(fan.Name()) {
			continue
		}
		if all, err = listFan(all, dir, fan.Name()); err != nil {
			return nil, fmt.Errorf("list cache folder: %w", err)
		}
	}
	return all, nil
}

func listFan(all []found, dir, fan string) ([]found, error) {
	files, err := unsorted(filepath.Join(dir, fan))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		n, ok := parseName(fan, file.Name())
		if !ok || !file.Type().IsRegular() {
			continue
		}
		facts, err := file.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, found{n, costOf(facts.Size()), facts.ModTime()})
	}
	return all, nil
}

func unsorted(dir string) ([]fs.DirEntry, error) {
	folder, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }()
	return folder.ReadDir(-1)
}

// restore builds the index from what the last process left. Nobody else uses
// the Disk yet.
func (d *Disk) restore() error {
	if err := d.removeLeftovers(); err != nil {
		return err
	}
	// Whoever purged before this had removed the files before it told.
	if _, err := collect(d.cfg.Dir); err != nil {
		return err
	}
	all, err := listFolder(d.cfg.Dir)
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b found) int { return a.used.Compare(b.used) })
	for _, f := range all {
		it := &item{name: f.name, cost: f.cost, used: f.used.UnixNano()}
		d.index.used += it.cost
		// A crash between two steps of a Put leaves a key in two groups.
		if old := d.index.add(it); old != nil {
			if err := d.remove(old); err != nil {
				return err
			}
		}
	}
	return d.trim()
}

// trim removes entries until no more than the limit is left.
func (d *Disk) trim() error {
	before := d.index.stats()
	if err := d.reserve(0); err != nil {
		return fmt.Errorf("trim cache folder: %w", err)
	}
	if after := d.index.stats(); after.Entries < before.Entries {
		d.log.Info("cache was over its limit", "folder", d.cfg.Dir, "removed", before.Entries-after.Entries)
	}
	return nil
}

func (d *Disk) removeLeftovers() error {
	files, err := unsorted(filepath.Join(d.cfg.Dir, tempFolder))
	if err != nil {
		return fmt.Errorf("list temporary files of cache: %w", err)
	}
	removed := 0
	for _, file := range files {
		if !tempPattern.MatchString(file.Name()) || !file.Type().IsRegular() {
			continue
		}
		if err := removeFile(filepath.Join(d.cfg.Dir, tempFolder, file.Name())); err != nil {
			return fmt.Errorf("remove temporary file of cache: %w", err)
		}
		removed++
	}
	if removed > 0 {
		d.log.Info("removed what a crash left half written", "folder", d.cfg.Dir, "removed", removed)
	}
	return nil
}
