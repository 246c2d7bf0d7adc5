package cache

import (
	"context"
	"time"
)

// watchEvery is how long a purge by another process may go unnoticed.
const watchEvery = time.Second

// Run notices purges that another process made, forgets what they removed,
// and tells onPurge of each; an empty group is everything. It ends with ctx,
// and without an error.
func (d *Disk) Run(ctx context.Context, onPurge func(group string)) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		err := d.heed(onPurge)
		if err != nil && !failing {
			d.log.Warn("purges cannot be noticed", "folder", d.cfg.Dir, "error", err)
		}
		failing = err != nil
	}
}

func (d *Disk) heed(onPurge func(group string)) error {
	groups, err := collect(d.cfg.Dir)
	if err != nil {
		return err
	}
	for _, group := range groups {
		// Again: entries may have been added since the other process looked.
		purged, err := d.Purge(group)
		if err != nil {
			d.log.Warn("purge left something", "folder", d.cfg.Dir, "error", err)
		}
		d.log.Info("cache was purged", "folder", d.cfg.Dir, "group", group, "entries", purged.Entries)
		if onPurge != nil {
			onPurge(group)
		}
	}
	return nil
}
