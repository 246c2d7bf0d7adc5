package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spillway-media/spillway/internal/app/settings"
	"github.com/spillway-media/spillway/internal/cache"
)

// cacheCommand groups what can be done with what is kept on disk.
type cacheCommand struct {
	Stats cacheStats `cmd:"" help:"Count what is kept on disk; a server may be using it."`
	Purge cachePurge `cmd:"" help:"Remove what is kept on disk; a server that is using it forgets it, too."`
}

// cacheFolders are the settings that tell where the caches lie.
type cacheFolders struct {
	layers
	Storage settings.Storage `embed:"" group:"Files"`
	Caching settings.Caching `embed:"" group:"Files"`
}

// cacheKind is one of the folders.
type cacheKind struct {
	kind, folder string
	limit        settings.Bytes
}

// kinds lists those folders that exist, and fails when there is none: a
// mistyped folder must not look like an empty cache.
func (c *cacheFolders) kinds() ([]cacheKind, error) {
	config := settings.Groups{Storage: c.Storage, Caching: c.Caching}
	var there []cacheKind
	for _, k := range []cacheKind{
		// In this order a purge leaves no original to make the results of again.
		{"sources", config.SourceCache(), c.Caching.SourceCacheDisk},
		{"results", config.ResultCache(), c.Caching.CacheDisk},
	} {
		if _, err := os.Stat(k.folder); err == nil {
			there = append(there, k)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("look at %s: %w", k.kind, err)
		}
	}
	if len(there) == 0 {
		return nil, fmt.Errorf("nothing is kept on disk in %q; another folder is given by --cache-dir or --data, and cache-disk or source-cache-disk let a server keep something", filepath.Dir(config.ResultCache()))
	}
	return there, nil
}

// cacheStats counts.
type cacheStats struct {
	cacheFolders
	JSON bool `name:"json" help:"Print JSON."`
}

// cacheReport is the JSON of cache stats; limit and oldest are left out where
// there is none.
type cacheReport struct {
	Entries int               `json:"entries"`
	Bytes   int64             `json:"bytes"`
	Kinds   []cacheKindReport `json:"kinds"`
}

type cacheKindReport struct {
	Kind    string    `json:"kind"`
	Folder  string    `json:"folder"`
	Entries int       `json:"entries"`
	Bytes   int64     `json:"bytes"`
	Limit   int64     `json:"limit,omitempty"`
	Oldest  time.Time `json:"oldest,omitzero"`
}

// Run prints the counts.
func (c *cacheStats) Run(s *session) error {
	kinds, err := c.kinds()
	if err != nil {
		return err
	}
	var report cacheReport
	for _, k := range kinds {
		folder, err := cache.Survey(k.folder)
		if err != nil {
			return fmt.Errorf("count %s: %w", k.kind, err)
		}
		report.Entries += folder.Entries
		report.Bytes += folder.Bytes
		report.Kinds = append(report.Kinds, cacheKindReport{
			k.kind, k.folder, folder.Entries, folder.Bytes, int64(k.limit), folder.Oldest,
		})
	}
	if c.JSON {
		return writeJSON(s.Stdout, report)
	}
	return report.show(s.Stdout)
}

func (r cacheReport) show(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprint(table, "kind\tentries\tsize\tlimit\toldest use\tfolder\n")
	for _, k := range r.Kinds {
		oldest, limit := "-", "off"
		if !k.Oldest.IsZero() {
			oldest = k.Oldest.Format(time.DateTime)
		}
		if k.Limit != 0 {
			limit = sizeText(k.Limit)
		}
		_, _ = fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t%s\n", k.Kind, k.Entries, sizeText(k.Bytes), limit, oldest, k.Folder)
	}
	return table.Flush()
}

// cachePurge removes.
type cachePurge struct {
	cacheFolders
	All    bool   `name:"all" xor:"what" help:"Remove everything."`
	Source string `name:"source" xor:"what" placeholder:"REF" help:"Remove one original and all that was made of it, named as requests name it: the value of image_url, or what follows /assets/."`
	JSON   bool   `name:"json" help:"Print JSON."`
}

// purgeReport is the JSON of cache purge.
type purgeReport struct {
	Entries int   `json:"entries"`
	Bytes   int64 `json:"bytes"`
}

// Run purges every folder it can and fails when there was one it could not.
func (c *cachePurge) Run(s *session) error {
	group := ""
	if c.Source != "" {
		group = cache.Group(c.Source)
	}
	if group == "" && !c.All {
		return usagef("give --all, or --source=REF with the name of an original")
	}
	kinds, err := c.kinds()
	if err != nil {
		return err
	}
	var report purgeReport
	var faults []error
	for _, k := range kinds {
		purged, err := cache.PurgeFolder(k.folder, group)
		if err != nil {
			faults = append(faults, fmt.Errorf("purge %s: %w", k.kind, err))
		}
		report.Entries += purged.Entries
		report.Bytes += purged.Bytes
	}
	return errors.Join(append(faults, c.tell(s, report))...)
}

func (c *cachePurge) tell(s *session, report purgeReport) error {
	if c.JSON {
		return writeJSON(s.Stdout, report)
	}
	entries := "entries"
	if report.Entries == 1 {
		entries = "entry"
	}
	_, err := fmt.Fprintf(s.Stdout, "removed %d %s, %s; a server that is running forgets them within a second\n",
		report.Entries, entries, sizeText(report.Bytes))
	return err
}
