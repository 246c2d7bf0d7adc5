package settings

import "path/filepath"

// ResultCache is the folder of results that are kept on disk.
func (g Groups) ResultCache() string { return filepath.Join(g.cacheDir(), "results") }

// SourceCache is the folder of originals that are kept on disk.
func (g Groups) SourceCache() string { return filepath.Join(g.cacheDir(), "sources") }

func (g Groups) cacheDir() string {
	if g.CacheDir != "" {
		return g.CacheDir
	}
	return filepath.Join(g.Data, "cache")
}
