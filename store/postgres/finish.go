package postgres

import (
	"context"
	_ "embed" // the statement
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-media/spillway/jobs"
)

//go:embed sql/finish.sql
var finishSQL string

// mostFinishes is how many attempts one shared commit ends.
const mostFinishes = 500

// finish is one attempt that ends.
type finish struct {
	lease   jobs.Lease
	outcome jobs.Outcome
}

// fitsFinish keeps two endings of one job apart: only the first may succeed.
func fitsFinish(batch []finish, in finish) bool {
	return len(batch) < mostFinishes &&
		!slices.ContainsFunc(batch, func(other finish) bool { return other.lease.ID == in.lease.ID })
}

// Finish implements jobs.FinishStore.
func (s *Store) Finish(ctx context.Context, l jobs.Lease, o jobs.Outcome) error {
	err := o.Validate()
	if err == nil && l.Token == "" {
		err = jobs.ErrLeaseLost // no token is what a damaged row has, and nobody's lease
	}
	if err == nil {
		_, err = s.finishes.do(ctx, finish{l, o})
	}
	if err != nil {
		return fmt.Errorf("finish job %s: %w", l.ID, err)
	}
	return nil
}

func (s *Store) finishAll(ctx context.Context, batch []finish) ([]struct{}, []error, error) {
	ended, err := s.end(ctx, batch, false)
	errs := make([]error, len(batch))
	for i, f := range batch {
		if !slices.Contains(ended, f.lease.ID) {
			errs[i] = jobs.ErrLeaseLost
		}
	}
	return make([]struct{}, len(batch)), errs, err
}

// end ends attempts and answers the jobs whose attempt it was. Of orphans, only
// those whose lease is over.
func (s *Store) end(ctx context.Context, batch []finish, orphans bool) ([]jobs.ID, error) {
	args := endColumns(batch)
	args["orphans"] = orphans
	return list(ctx, s, "update", pgx.RowTo[jobs.ID], finishSQL, args)
}

// endColumns turns endings into the arrays of the statement.
func endColumns(batch []finish) pgx.NamedArgs {
	n := len(batch)
	ids, tokens, states, attempts := make([]int64, n), make([]string, n), make([]string, n), make([]string, n)
	delays, results := make([]int64, n), make([]*string, n)
	codes, reasons := make([]string, n), make([]string, n)
	news, dones, totals, notes := make([]bool, n), make([]int64, n), make([]int64, n), make([]string, n)
	for i, f := range batch {
		o := f.outcome
		ids[i], tokens[i] = int64(f.lease.ID), f.lease.Token
		states[i], attempts[i], delays[i] = string(o.State), string(o.Attempt), o.Delay.Microseconds()
		results[i], codes[i], reasons[i] = optional(string(o.Result)), clean(o.Code), clean(o.Reason)
		if o.Progress != nil {
			news[i], dones[i], totals[i], notes[i] = true, o.Progress.Done, o.Progress.Total, clean(o.Progress.Note)
		}
	}
	return pgx.NamedArgs{
		"ids": ids, "tokens": tokens, "states": states, "attempts": attempts, "delays": delays, "results": results,
		"codes": codes, "reasons": reasons, "news": news, "dones": dones, "totals": totals, "notes": notes,
	}
}
