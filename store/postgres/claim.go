package postgres

import (
	"context"
	_ "embed" // the statements
	"math"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-media/spillway/jobs"
)

//go:embed sql/heads.sql
var headsSQL string

//go:embed sql/take.sql
var takeSQL string

//go:embed sql/take_suspect.sql
var takeSuspectSQL string

// head is a place in the order of claims, that of a queue's first job.
type head struct {
	queue string
	rank  int16
	tag   float64
	id    int64
}

// last is behind every job that may be taken.
func last(c jobs.Claim) head { return head{rank: highest(c), tag: math.Inf(1), id: math.MaxInt64} }

// highest is the highest rank that may be taken.
func highest(c jobs.Claim) int16 {
	if c.MaxRank != 0 {
		return int16(min(c.MaxRank, jobs.LowestPriority))
	}
	return jobs.LowestPriority
}

// Claim implements jobs.ClaimStore. It looks at the head of every queue and
// takes, from the queue whose head is the lowest, what lies before the head of
// the next; so it never takes a job while it could have taken one that goes
// first. Where all of that is being taken by others it goes on behind it.
func (s *Store) Claim(ctx context.Context, c jobs.Claim) ([]jobs.Job, error) {
	if c.N < 1 || len(c.Queues) == 0 || c.MaxRank < 0 {
		return nil, nil
	}
	var claimed []jobs.Job
	err := s.call(ctx, "claim jobs", func(ctx context.Context) error {
		if c.Alone {
			suspect, err := s.claimSuspect(ctx, c)
			if claimed = suspect; err != nil || len(claimed) > 0 {
				return err
			}
		}
		// Most claims find nothing: those need no transaction.
		p := newClaiming(s, c)
		heads, err := p.heads(ctx, s.pool)
		if err != nil || len(heads) == 0 {
			return err
		}
		return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			claimed, err = p.take(ctx, tx, heads)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return claimed, nil
}

// claimSuspect gives the one job that has to run alone, when there is one.
func (s *Store) claimSuspect(ctx context.Context, c jobs.Claim) ([]jobs.Job, error) {
	rows, err := s.pool.Query(ctx, s.sql(takeSuspectSQL), pgx.NamedArgs{
		"queues": c.Queues, "worker": c.WorkerID, "lease": c.Lease.Microseconds(), "spot": c.Market == jobs.Spot,
		"max_rank": highest(c),
	})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, asJob)
}

// claiming is one claim under way.
type claiming struct {
	store *Store
	claim jobs.Claim
	left  map[string]head // where each queue was left
}

func newClaiming(s *Store, c jobs.Claim) *claiming {
	p := &claiming{store: s, claim: c, left: make(map[string]head, len(c.Queues))}
	for _, queue := range c.Queues {
		p.left[queue] = head{queue: queue}
	}
	return p
}

func (p *claiming) take(ctx context.Context, tx pgx.Tx, heads []head) ([]jobs.Job, error) {
	var taken []jobs.Job
	for len(heads) > 0 {
		queue, upTo := heads[0].queue, last(p.claim)
		if len(heads) > 1 {
			upTo = heads[1]
		}
		some, err := p.takeFrom(ctx, tx, queue, upTo, p.claim.N-len(taken))
		if err != nil {
			return nil, err
		}
		taken = append(taken, some...)
		if len(taken) == p.claim.N {
			break
		}
		// Everything of this queue before that place is taken now, by whomever.
		upTo.queue = queue
		p.left[queue] = upTo
		if heads, err = p.heads(ctx, tx); err != nil {
			return nil, err
		}
	}
	return taken, nil
}

func (p *claiming) takeFrom(ctx context.Context, tx pgx.Tx, queue string, upTo head, n int) ([]jobs.Job, error) {
	from := p.left[queue]
	rows, err := tx.Query(ctx, p.store.sql(takeSQL), pgx.NamedArgs{
		"queue": queue, "worker": p.claim.WorkerID, "lease": p.claim.Lease.Microseconds(), "n": n,
		"spot":      p.claim.Market == jobs.Spot,
		"from_rank": from.rank, "from_tag": from.tag, "from_id": from.id,
		"to_rank": upTo.rank, "to_tag": upTo.tag, "to_id": upTo.id,
	})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, asJob)
}

// asker is a transaction or the pool.
type asker interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// heads lists the queues that have something for this worker, in the order in
// which it would be taken. A queue whose head is of too high a rank has nothing.
func (p *claiming) heads(ctx context.Context, db asker) ([]head, error) {
	var queues []string
	var ranks []int16
	var tags []float64
	var ids []int64
	for queue, at := range p.left {
		queues, ranks = append(queues, queue), append(ranks, at.rank)
		tags, ids = append(tags, at.tag), append(ids, at.id)
	}
	rows, err := db.Query(ctx, headsSQL, pgx.NamedArgs{
		"queues": queues, "ranks": ranks, "tags": tags, "ids": ids,
		"worker": p.claim.WorkerID, "spot": p.claim.Market == jobs.Spot,
	})
	if err != nil {
		return nil, err
	}
	heads, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (head, error) {
		var h head
		err := row.Scan(&h.queue, &h.rank, &h.tag, &h.id)
		return h, err
	})
	return slices.DeleteFunc(heads, func(h head) bool { return h.rank > highest(p.claim) }), err
}
