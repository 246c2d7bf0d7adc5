package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/spillway-media/spillway/internal/app/settings"
	"github.com/spillway-media/spillway/internal/cache"
	"github.com/spillway-media/spillway/internal/transform"
)

// openStores opens the folders for finished bytes that the settings ask for.
func openStores(c settings.Config, log *slog.Logger) (stores transform.Stores, err error) {
	open := func(dir string, limit settings.Bytes) *cache.Disk {
		if limit == 0 || err != nil {
			return nil
		}
		var disk *cache.Disk
		disk, err = cache.OpenDisk(cache.DiskConfig{Dir: dir, Limit: int64(limit)}, log)
		if err != nil {
			err = fmt.Errorf("cache-dir: %w", err)
		}
		return disk
	}
	stores.Results = open(c.ResultCache(), c.CacheDisk)
	stores.Sources = open(c.SourceCache(), c.SourceCacheDisk)
	if err != nil {
		return transform.Stores{}, errors.Join(err, closeStores(stores))
	}
	return stores, nil
}

func closeStores(stores transform.Stores) error {
	var errs []error
	for _, disk := range []*cache.Disk{stores.Results, stores.Sources} {
		if disk != nil {
			errs = append(errs, disk.Close())
		}
	}
	return errors.Join(errs...)
}

// watchStores heeds purges by other processes until ctx ends: what is kept in
// memory goes with what is kept on disk.
func watchStores(ctx context.Context, stores transform.Stores, service *transform.Service) error {
	var wait sync.WaitGroup
	var errs [2]error
	for i, disk := range []*cache.Disk{stores.Results, stores.Sources} {
		if disk != nil {
			wait.Go(func() { errs[i] = disk.Run(ctx, service.Purge) })
		}
	}
	wait.Wait()
	return errors.Join(errs[:]...)
}
