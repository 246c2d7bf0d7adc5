package derive

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"github.com/spillway-media/spillway/internal/blob"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/jobs"
)

// JobLister lists jobs, newest first: jobs.QueryStore.
type JobLister interface {
	Jobs(ctx context.Context, f jobs.Filter) ([]jobs.Job, error)
}

const (
	// sweptAtOnce bounds the keys that are in memory while jobs are looked through.
	sweptAtOnce = 50_000
	// jobsAtOnce is small because each may have a megabyte of params.
	jobsAtOnce = 50
)

// Sweep removes uploads from before a moment that no job needs, and tells how
// many. A job that waits or runs needs its own, however old they are, and so
// does one that somebody may have tried again.
func (u *Uploads) Sweep(ctx context.Context, before time.Time, list JobLister) (removed int, err error) {
	for after, more := "", true; more; {
		var old map[string]bool
		if old, after, more, err = u.old(ctx, before, after); err != nil {
			return removed, fmt.Errorf("sweep uploads: %w", err)
		}
		n, err := u.remove(ctx, old, list)
		removed += n
		if err != nil {
			return removed, fmt.Errorf("sweep uploads: %w", err)
		}
	}
	return removed, nil
}

// old lists what is from before a moment among the keys behind one, and whether there
// may be more after last.
func (u *Uploads) old(ctx context.Context, before time.Time, after string) (keys map[string]bool, last string, more bool, err error) {
	keys, last, more = map[string]bool{}, after, true
	for more && len(keys) < sweptAtOnce {
		page, err := u.store.List(ctx, uploadFolder, last, blob.MaxList)
		if err != nil {
			return nil, last, false, err
		}
		for _, info := range page {
			if last = info.Key; info.ModTime.Before(before) {
				keys[info.Key] = true
			}
		}
		more = len(page) == blob.MaxList
	}
	return keys, last, more, nil
}

func (u *Uploads) remove(ctx context.Context, keys map[string]bool, list JobLister) (removed int, err error) {
	if err := spare(ctx, keys, list); err != nil {
		return 0, err
	}
	for key := range keys {
		if err := u.store.Delete(ctx, key); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

// spared are the states of jobs that need their uploads. Those that wait are
// asked for twice: one that ran at first may have been given back since.
var spared = []jobs.State{jobs.Queued, jobs.Running, jobs.Queued, jobs.Failed, jobs.Cancelled}

// spare takes those out of keys that a job names.
func spare(ctx context.Context, keys map[string]bool, list JobLister) error {
	for _, state := range spared {
		for before := jobs.ID(0); len(keys) > 0; {
			page, err := list.Jobs(ctx, jobs.Filter{State: state, Before: before, Limit: jobsAtOnce})
			if err != nil {
				return fmt.Errorf("look for jobs that need uploads: %w", err)
			}
			for _, job := range page {
				before = job.ID
				for _, key := range named(&job) {
					delete(keys, key)
				}
			}
			if len(page) < jobsAtOnce {
				break
			}
		}
	}
	return nil
}

var uploadNamed = regexp.MustCompile(source.UploadScheme + `([0-9a-f]{32}-[0-9a-f]{16})`)

// named are the keys of what a job names, as its input or anywhere in its params.
func named(job *jobs.Job) (keys []string) {
	params := []byte(job.Params)
	if bytes.ContainsRune(params, '\\') {
		params = unescaped(params)
	}
	for _, text := range [][]byte{[]byte(job.Input), params} {
		for _, match := range uploadNamed.FindAllSubmatch(text, -1) {
			keys = append(keys, uploadFolder+"/"+string(match[1]))
		}
	}
	return keys
}

// unescaped writes JSON anew, because any letter of it may have been escaped.
func unescaped(params []byte) []byte {
	var value any
	if json.Unmarshal(params, &value) != nil {
		return params
	}
	again, err := json.Marshal(value)
	if err != nil {
		return params
	}
	return again
}
