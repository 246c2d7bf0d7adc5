package httpapi

import (
	"slices"

	"github.com/spillway-media/spillway/internal/originals"
	"github.com/spillway-media/spillway/internal/transform"
)

const (
	decodedHelp = "Decoded bytes that running jobs have reserved, and the budget they share."
	spoolHelp   = "Encoded bytes held for jobs and clients, by place."
)

// imageFigures are all that the service tells of itself.
func imageFigures() []figure {
	return slices.Concat(workFigures(), sharingFigures(), cacheFigures(), originalFigures())
}

// workFigures tell how much is being done, how much waits, and for how long.
func workFigures() []figure {
	return []figure{
		gauge("spillway_jobs_in_flight", "Transforms at work.", func(r reading) float64 { return float64(r.images.Running) }),
		gauge("spillway_jobs_waiting", "Transforms that wait for their turn.", func(r reading) float64 { return float64(r.images.Waiting) }),
		gauge("spillway_jobs_limit", "Transforms that may be at work at once.", func(r reading) float64 { return float64(r.images.Jobs) }),
		gauge("spillway_jobs_waiting_limit", "Transforms that may wait before more are refused.", func(r reading) float64 { return float64(r.images.QueueLimit) }),
		counter("spillway_jobs_done_total", "Transforms that ended, well or not.", func(r reading) float64 { return float64(r.images.Done) }),
		counter("spillway_jobs_refused_total", "Transforms that got no turn.", func(r reading) float64 { return float64(r.images.Refused) }),
		counter("spillway_jobs_shed_total", "Those of the refused that had waited.", func(r reading) float64 { return float64(r.images.Shed) }),
		gauge("spillway_queue_age_seconds", "How long somebody has waited without a pause.", func(r reading) float64 { return r.images.Oldest.Seconds() }),
		gauge("spillway_backlog_seconds", "Estimated wait of a newcomer.", func(r reading) float64 { return r.images.Backlog.Seconds() }),
		gauge("spillway_overloaded", "1 while only short waits are accepted.", func(r reading) float64 { return oneIf(r.images.Strict) }),
		labelled("spillway_decoded_bytes", decodedHelp, "kind", "reserved", func(r reading) float64 { return float64(r.images.ReservedBytes) }),
		labelled("spillway_decoded_bytes", decodedHelp, "kind", "budget", func(r reading) float64 { return float64(r.images.BudgetBytes) }),
	}
}

// sharingFigures tell what work was saved, or lessened.
func sharingFigures() []figure {
	return []figure{
		gauge("spillway_flights", "Results being made.", func(r reading) float64 { return float64(r.images.Flights) }),
		counter("spillway_flights_joined_total", "Requests for a result that was being made already.", func(r reading) float64 { return float64(r.images.Joined) }),
		counter("spillway_flights_merged_total", "Results made in a decode that was there for another.", func(r reading) float64 { return float64(r.images.Merged) }),
		counter("spillway_effort_reduced_total", "Results whose encoder's effort load has lowered.", func(r reading) float64 { return float64(r.images.Reduced) }),
	}
}

// cacheFigures have one value for each store: results in memory and on disk,
// and originals on disk.
func cacheFigures() []figure {
	stores := []struct {
		name string
		read func(transform.Stats) transform.CacheStats
	}{
		{"memory", func(s transform.Stats) transform.CacheStats { return s.Cache }},
		{"disk", func(s transform.Stats) transform.CacheStats { return s.Disk }},
		{"sources", func(s transform.Stats) transform.CacheStats {
			d := s.Originals.Disk
			return transform.CacheStats{Hits: d.Hits, Misses: d.Misses, Entries: d.Entries, Bytes: d.Bytes, Limit: d.Limit}
		}},
	}
	figures := []figure{
		counter("spillway_cache_unkept_total", "Results that the disk had no time or room for.", func(r reading) float64 { return float64(r.images.Unkept) }),
	}
	for _, s := range stores {
		of := func(value func(transform.CacheStats) float64) func(reading) float64 {
			return func(r reading) float64 { return value(s.read(r.images)) }
		}
		figures = append(figures,
			counted("spillway_cache_hits_total", "Lookups that found something, by store.", "store", s.name, of(func(c transform.CacheStats) float64 { return float64(c.Hits) })),
			counted("spillway_cache_misses_total", "Lookups that found nothing, by store.", "store", s.name, of(func(c transform.CacheStats) float64 { return float64(c.Misses) })),
			labelled("spillway_cache_entries", "What is kept, by store.", "store", s.name, of(func(c transform.CacheStats) float64 { return float64(c.Entries) })),
			labelled("spillway_cache_bytes", "Bytes kept, by store.", "store", s.name, of(func(c transform.CacheStats) float64 { return float64(c.Bytes) })),
			labelled("spillway_cache_limit_bytes", "Bytes a store may hold.", "store", s.name, of(func(c transform.CacheStats) float64 { return float64(c.Limit) })),
		)
	}
	return figures
}

// originalFigures tell how originals were come by.
func originalFigures() []figure {
	const help = "Originals opened, by how: known and fresh, asked for already, unchanged or changed at the origin, stale, from disk."
	ways := []struct {
		name string
		read func(originals.Stats) uint64
	}{
		{"fresh", func(s originals.Stats) uint64 { return s.Fresh }},
		{"joined", func(s originals.Stats) uint64 { return s.Joined }},
		{"unchanged", func(s originals.Stats) uint64 { return s.Unchanged }},
		{"changed", func(s originals.Stats) uint64 { return s.Changed }},
		{"stale", func(s originals.Stats) uint64 { return s.Stale }},
		{"disk", func(s originals.Stats) uint64 { return s.FromDisk }},
	}
	figures := []figure{
		gauge("spillway_fetches_in_flight", "Originals being asked for or read.", func(r reading) float64 { return float64(r.images.Originals.Fetches) }),
		counter("spillway_originals_opened_total", "Originals that were asked for.", func(r reading) float64 { return float64(r.images.Originals.Opens) }),
		gauge("spillway_originals_kept", "Originals kept in memory after use, each in a spool.", func(r reading) float64 { return float64(r.images.Originals.KeptBodies) }),
		gauge("spillway_originals_kept_bytes", "Bytes of originals kept in memory after use.", func(r reading) float64 { return float64(r.images.Originals.KeptBytes) }),
	}
	for _, way := range ways {
		figures = append(figures, counted("spillway_originals_total", help, "how", way.name, func(r reading) float64 { return float64(way.read(r.images.Originals)) }))
	}
	return figures
}

func spoolFigures() []figure {
	return []figure{
		gauge("spillway_spools_open", "Spools that somebody still needs.", func(r reading) float64 { return float64(r.spools.Open) }),
		labelled("spillway_spool_bytes", spoolHelp, "place", "memory", func(r reading) float64 { return float64(r.spools.MemoryBytes) }),
		labelled("spillway_spool_bytes", spoolHelp, "place", "disk", func(r reading) float64 { return float64(r.spools.DiskBytes) }),
	}
}

func engineFigures() []figure {
	return []figure{
		gauge("spillway_vips_memory_bytes", "Memory libvips tracks.", func(r reading) float64 { return float64(r.engine.MemoryBytes) }),
		gauge("spillway_vips_allocations", "Allocations libvips holds.", func(r reading) float64 { return float64(r.engine.Allocations) }),
		gauge("spillway_vips_files", "Files libvips holds open.", func(r reading) float64 { return float64(r.engine.OpenFiles) }),
	}
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
