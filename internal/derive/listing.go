package derive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/jobs"
)

// Keys of checkpoints: an item's begins with its index, a page of the listing
// with listed. So what a prefix meant when the job began is what it means in
// every attempt, whatever was put there or taken away since.
const (
	listed    = "list-"
	listedEnd = listed + "end"
)

// itemKey holds a part of the name's hash, so that a row can be told from one of
// another list.
func itemKey(index int, name string) string {
	sum := sha256.Sum256([]byte(name))
	return fmt.Sprintf("%06d-%s", index, hex.EncodeToString(sum[:4]))
}

// page is a checkpoint of the listing.
type page struct {
	Names   []string `json:"names"`
	After   []byte   `json:"after"` // the last key that was looked at, which need not be text
	Skipped int      `json:"skipped"`
}

// resume finds out what there is to do and what of it is done.
func (b *bulk) resume(ctx context.Context) error {
	saved, err := b.task.Saved(ctx)
	if err != nil {
		return fmt.Errorf("read checkpoints: %w", err)
	}
	if b.names = b.params.inputs; b.params.byPrefix {
		if err := b.list(ctx, saved); err != nil {
			return err
		}
	}
	b.done = make(map[int]json.RawMessage, len(b.names))
	for _, row := range saved {
		index, err := strconv.Atoi(row.Key[:max(strings.IndexByte(row.Key, '-'), 0)])
		if err == nil && index < len(b.names) && row.Key == itemKey(index, b.names[index]) {
			b.done[index] = row.Value
		}
	}
	b.resumed = len(b.done)
	b.report()
	return nil
}

// list reads the pages that were listed and lists the rest.
func (b *bulk) list(ctx context.Context, saved []jobs.Checkpoint) error {
	pages, whole, after := 0, false, ""
	for _, row := range saved {
		if row.Key == listedEnd {
			whole = true
		} else if strings.HasPrefix(row.Key, listed) {
			var p page
			if err := json.Unmarshal(row.Value, &p); err != nil {
				return fmt.Errorf("read checkpoint %s: %w", row.Key, err)
			}
			b.add(p)
			pages, after = pages+1, string(p.After)
		}
	}
	for !whole {
		keys, err := b.cfg.Lister.List(ctx, b.params.prefix, after, source.MaxList)
		if err != nil {
			return err
		}
		if whole = len(keys) < source.MaxList; len(keys) > 0 {
			after = keys[len(keys)-1]
		}
		found := sorted(keys)
		for _, p := range found {
			b.add(p)
		}
		if err := b.saveListed(ctx, pages, found, whole); err != nil {
			return err
		}
		pages += len(found)
		b.report()
	}
	slices.SortFunc(b.names, natural)
	return b.checkListed()
}

// pageNames is how many keys a row is for.
const pageNames = 1000

// sorted takes the pictures out of keys. Names that are no text are changed as
// JSON would change them, so that they are the same in every attempt.
func sorted(keys []string) (pages []page) {
	for some := range slices.Chunk(keys, pageNames) {
		p := page{After: []byte(some[len(some)-1])}
		for _, key := range some {
			if hidden := strings.HasPrefix(key, ".") || strings.Contains(key, "/."); hidden || !media.IsPictureName(key) {
				p.Skipped++
			} else {
				p.Names = append(p.Names, strings.ToValidUTF8(key, string(unicode.ReplacementChar)))
			}
		}
		pages = append(pages, p)
	}
	return pages
}

func (b *bulk) add(p page) {
	b.names = append(b.names, p.Names...)
	b.skipped += p.Skipped
}

// saveListed makes the last pages and the end of the list one change. A list
// that no work can follow is not kept: whoever has put right what was wrong may
// ask for the job to be tried again.
func (b *bulk) saveListed(ctx context.Context, number int, pages []page, whole bool) error {
	if whole || len(b.names) > maxItems {
		if err := b.checkListed(); err != nil {
			return err
		}
	}
	var rows []jobs.Checkpoint
	for i, p := range pages {
		raw, err := encode(p)
		if err != nil {
			return err
		}
		rows = append(rows, jobs.Checkpoint{Key: fmt.Sprintf("%s%06d", listed, number+i), Value: raw})
	}
	if whole {
		rows = append(rows, jobs.Checkpoint{Key: listedEnd, Value: json.RawMessage(`{}`)})
	}
	if err := b.task.SaveAll(ctx, rows); err != nil {
		return fmt.Errorf("save listing: %w", err)
	}
	return nil
}

func (b *bulk) checkListed() error {
	prefix, n := b.params.prefix, len(b.names)
	switch {
	case n == 0:
		return media.Errorf(media.CodeSourceNotFound, "No picture lies below the prefix %.100q.", prefix)
	case n > maxItems:
		return media.Errorf(media.CodeInvalidParameter, "More than %d pictures lie below the prefix %.100q; give one that holds fewer.", maxItems, prefix)
	case n*len(b.params.outputs) > maxBulkOutputs:
		return media.Errorf(media.CodeInvalidParameter, "%d pictures would be made of those below the prefix %.100q; one job makes %d at most.",
			n*len(b.params.outputs), prefix, maxBulkOutputs)
	}
	return nil
}
