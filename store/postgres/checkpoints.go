package postgres

import (
	"context"
	_ "embed" // the statements
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-media/spillway/jobs"
)

//go:embed sql/save.sql
var saveSQL string

//go:embed sql/checkpoints.sql
var checkpointsSQL string

// mostParts is how many parts one shared commit stores.
const mostParts = 2000

// saving is one call of SaveCheckpoints.
type saving struct {
	lease jobs.Lease
	parts []jobs.Checkpoint
}

func fitsSaving(batch []saving, in saving) bool {
	n := len(in.parts)
	for _, other := range batch {
		n += len(other.parts)
	}
	return n <= mostParts
}

// SaveCheckpoints implements jobs.ClaimStore.
func (s *Store) SaveCheckpoints(ctx context.Context, l jobs.Lease, parts []jobs.Checkpoint) error {
	if _, err := s.checkpoints.do(ctx, saving{l, parts}); err != nil {
		return fmt.Errorf("save checkpoints of job %s: %w", l.ID, err)
	}
	return nil
}

func (s *Store) saveAll(ctx context.Context, batch []saving) ([]struct{}, []error, error) {
	held := map[jobs.Lease]bool{}
	err := s.call(ctx, "insert", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, s.sql(saveSQL), partColumns(batch))
		if err != nil {
			return err
		}
		var l jobs.Lease
		_, err = pgx.ForEachRow(rows, []any{&l.ID, &l.Token}, func() error {
			held[l] = true
			return nil
		})
		return err
	})
	errs := make([]error, len(batch))
	for i, saved := range batch {
		if !held[saved.lease] {
			errs[i] = jobs.ErrLeaseLost
		}
	}
	return make([]struct{}, len(batch)), errs, err
}

// partColumns turns calls into the arrays of the statement. A lease is listed
// once, however many calls are under it.
func partColumns(batch []saving) pgx.NamedArgs {
	var leases, ids []int64
	var leaseTokens, tokens, keys, values []string
	seen := map[jobs.Lease]bool{}
	for _, saved := range batch {
		if !seen[saved.lease] {
			seen[saved.lease] = true
			leases, leaseTokens = append(leases, int64(saved.lease.ID)), append(leaseTokens, saved.lease.Token)
		}
		for _, part := range saved.parts {
			ids, tokens = append(ids, int64(saved.lease.ID)), append(tokens, saved.lease.Token)
			keys, values = append(keys, part.Key), append(values, orNull(part.Value))
		}
	}
	return pgx.NamedArgs{
		"leases": leases, "lease_tokens": leaseTokens, "ids": ids, "tokens": tokens, "keys": keys, "values": values,
	}
}

// orNull is JSON's null for no value at all.
func orNull(value json.RawMessage) string {
	if len(value) == 0 {
		return "null"
	}
	return string(value)
}

// Checkpoints implements jobs.ClaimStore.
func (s *Store) Checkpoints(ctx context.Context, id jobs.ID, after string, limit int) ([]jobs.Checkpoint, error) {
	read := func(row pgx.CollectableRow) (jobs.Checkpoint, error) {
		var c jobs.Checkpoint
		var value string
		err := row.Scan(&c.Key, &value, &c.Number, &c.WorkerID, &c.CreatedAt)
		c.Value, c.CreatedAt = json.RawMessage(value), c.CreatedAt.UTC()
		return c, err
	}
	return list(ctx, s, "read checkpoints", read, checkpointsSQL, pgx.NamedArgs{"id": id, "after": clean(after), "most": limit})
}
