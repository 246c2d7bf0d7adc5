package cache

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// Folder is what lies in a cache folder, as any process can see it.
type Folder struct {
	Entries int
	Bytes   int64
	// Oldest is when the entry that leaves first was used last, to the
	// minute; zero when there is none.
	Oldest time.Time
}

// Survey counts a folder, also one that a server is using. A folder that does
// not exist is fs.ErrNotExist.
func Survey(dir string) (Folder, error) {
	all, err := listFolder(dir)
	if err != nil {
		return Folder{}, err
	}
	var folder Folder
	for _, f := range all {
		folder.Entries++
		folder.Bytes += f.cost
		if folder.Oldest.IsZero() || f.used.Before(folder.Oldest) {
			folder.Oldest = f.used
		}
	}
	return folder, nil
}

// PurgeFolder removes all entries of a group, or all there are when group is
// empty, and tells the server that may be using the folder, whose Run notices
// within a second. A folder that does not exist is fs.ErrNotExist.
func PurgeFolder(dir, group string) (Purged, error) {
	all, err := listFolder(dir)
	if err != nil {
		return Purged{}, err
	}
	var purged Purged
	var errs []error
	wanted := groupIDOf(group)
	for _, f := range all {
		if wanted != nil && f.name.group != *wanted {
			continue
		}
		if err := removeFile(filepath.Join(dir, f.name.path())); err != nil {
			errs = append(errs, fmt.Errorf("remove cache entry: %w", err))
			continue
		}
		purged.Entries++
		purged.Bytes += f.cost
	}
	return purged, errors.Join(errors.Join(errs...), announce(dir, group))
}
