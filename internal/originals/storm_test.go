package originals_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/internal/cache"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/originals"
	"github.com/spillway-media/spillway/internal/source"
)

// TestStorm lets hundreds open, load, share, leave and close while the origin
// changes, breaks and recovers and all is purged again and again. Whoever gets
// bytes gets those of the version it was told, whole; and at the end nothing
// is left.
func TestStorm(t *testing.T) {
	var sum originals.Stats
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := storm(t, seed)
				sum.Joined += st.Joined
				sum.Unchanged += st.Unchanged
				sum.Stale += st.Stale
				sum.FromDisk += st.FromDisk
			})
		})
	}
	if sum.Joined == 0 || sum.Unchanged == 0 || sum.Stale == 0 || sum.FromDisk == 0 {
		t.Errorf("not all of it has happened: %+v", sum)
	}
}

const stormRefs = 24

func storm(t *testing.T, seed uint64) originals.Stats {
	cfg := originals.Config{Memory: 16 << 10, Kept: 3, Fetches: 40, WhileRevalidate: 20 * time.Millisecond, IfError: 50 * time.Millisecond}
	var disk *cache.Disk
	if seed%2 == 1 {
		disk = newDisk(t)
	}
	origin := newOrigin(map[string]page{})
	random := rand.New(rand.NewPCG(seed, 1))
	for i := range stormRefs {
		origin.set(fmt.Sprint(i), stormPage(random, i, 0))
	}
	b := newBench(t, origin, setup{cfg: cfg, disk: disk})
	calm, stop := context.WithCancel(t.Context())
	var weather, people sync.WaitGroup
	weather.Go(func() {
		for version := 1; pause(calm, time.Duration(random.IntN(10))*time.Millisecond) == nil; version++ {
			i := random.IntN(stormRefs)
			origin.set(fmt.Sprint(i), stormPage(random, i, version))
			switch random.IntN(40) {
			case 0:
				b.store.Purge("")
			case 1:
				b.store.Purge(cache.Group(fmt.Sprint(i)))
			}
		}
	})
	for i := range 300 {
		people.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(i)+2))
			for range 10 {
				visit(b, random)
				_ = pause(t.Context(), time.Duration(random.IntN(300))*time.Millisecond)
			}
		})
	}
	people.Wait()
	stop()
	weather.Wait()
	st := b.store.Stats()
	if st.KeptBytes > cfg.Memory || st.Remembered > cfg.Kept {
		t.Errorf("stats are %+v", st)
	}
	b.end()
	return st
}

// stormPage is a version of a page, of which the bytes tell which one.
func stormPage(random *rand.Rand, i, version int) page {
	p := page{
		etag: fmt.Sprintf("%q", fmt.Sprint(version)), life: says(),
		headers: time.Duration(random.IntN(4)) * time.Millisecond, bytes: time.Duration(random.IntN(4)) * time.Millisecond,
	}
	p.data = stormBytes(i, p.etag)
	switch i % 6 {
	case 0:
		p.life = fresh(20 * time.Millisecond)
	case 1:
		p.kind, p.life = source.KindFile, source.Life{}
	case 2:
		p.life = source.Life{NoStore: true}
	case 3:
		p.openEnded = true
	case 4:
		p.etag = ""
	}
	switch random.IntN(8) {
	case 0:
		p.fault = unavailable()
	case 1:
		p.fault = notThere()
	case 2:
		p.cut = 5
	}
	return p
}

func stormBytes(i int, etag string) string {
	return strings.Repeat(fmt.Sprintf("%d %s ", i, etag), 500)
}

// visit is what one of the people does with one original.
func visit(b *bench, random *rand.Rand) {
	i := random.IntN(stormRefs)
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Duration(random.IntN(15))*time.Millisecond)
	defer cancel()
	o, err := b.store.Open(ctx, fmt.Sprint(i))
	if err != nil {
		checkFault(b, err)
		return
	}
	defer o.Close()
	if random.IntN(3) == 0 {
		other := o.Retain()
		o.Close()
		o = other
		defer other.Close()
	}
	switch random.IntN(4) {
	case 0:
		return
	case 1:
		if _, err := o.Version(ctx); err != nil {
			checkFault(b, err)
		}
	}
	if err := o.Load(ctx); err != nil {
		checkFault(b, err)
		return
	}
	_ = pause(ctx, time.Duration(random.IntN(4))*time.Millisecond)
	if tag := o.Meta().ETag; tag != "" && string(o.Bytes()) != stormBytes(i, tag) {
		b.t.Errorf("version %s has the bytes %.40q of %d", tag, o.Bytes(), len(o.Bytes()))
	} else if len(o.Bytes()) < len(stormBytes(i, `"0"`)) {
		b.t.Errorf("only %d bytes came", len(o.Bytes()))
	}
}

// checkFault finds faults that nothing in the storm explains.
func checkFault(b *bench, err error) {
	switch codeOf(err) {
	case media.CodeSourceUnavailable, media.CodeSourceNotFound, media.CodeSourceTimeout, media.CodeCancelled, media.CodeOverloaded:
		return
	case media.CodeSourceFailed:
		if errors.Is(err, originals.ErrChanged) || strings.Contains(err.Error(), "ended early") {
			return
		}
	}
	b.t.Errorf("unexpected: %v", err)
}
