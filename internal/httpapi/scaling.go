package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// ScalingDesk is what can be asked of the scheduler; every fleet.Desk is one.
type ScalingDesk interface {
	Decisions(ctx context.Context, f fleet.DecisionFilter) ([]fleet.Decision, error)
	SpendEntries(ctx context.Context, before int64, limit int) ([]fleet.SpendEntry, error)
	Spending(ctx context.Context, from, until time.Time, zone *time.Location) ([]fleet.Spending, error)
}

// ScalingDecision is a decision as it is told over HTTP: what was decided and by
// what rule, with the limit or threshold that it quotes. The rest of the
// scheduler's file (machines, images, prices, bids) stays in the shell, and with
// it the candidates, what was rejected, and what providers answered.
type ScalingDecision struct {
	ID       string       `json:"id"`
	Tick     string       `json:"tick"`
	At       time.Time    `json:"at"`
	Kind     fleet.Kind   `json:"kind"`
	Origin   fleet.Origin `json:"origin"`
	Queue    string       `json:"queue,omitempty"`
	WorkerID string       `json:"worker_id,omitempty"`
	Provider string       `json:"provider,omitempty"`
	Rule     string       `json:"rule"`
	Sentence string       `json:"sentence"`
	Inputs   []fleet.Fact `json:"inputs"`
	Wanted   int          `json:"wanted"`
	Allowed  int          `json:"allowed"`
	Limit    string       `json:"limit,omitempty"`
	Failed   bool         `json:"failed"`
}

// ScalingEntry is money that was booked, without the place of its machine.
type ScalingEntry struct {
	ID       string          `json:"id"`
	At       time.Time       `json:"at"`
	WorkerID string          `json:"worker_id"`
	Provider string          `json:"provider"`
	Queue    string          `json:"queue"`
	Kind     fleet.SpendKind `json:"kind"`
	From     time.Time       `json:"from"`
	Until    time.Time       `json:"until"`
	Amount   fleet.Money     `json:"amount_ten_thousandths_of_cent"`
}

// placesOfFile are inputs that repeat what the file says of machines.
var placesOfFile = []string{"offer", "price_cents", "rate_cents_per_hour", "token"}

func told(d fleet.Decision) ScalingDecision {
	inputs := slices.DeleteFunc(slices.Clone(d.Inputs), func(f fleet.Fact) bool { return slices.Contains(placesOfFile, f.Name) })
	return ScalingDecision{
		ID: d.ID, Tick: d.Tick, At: d.At.UTC(), Kind: d.Kind, Origin: d.Origin, Queue: d.Queue, WorkerID: d.WorkerID,
		Provider: d.Provider, Rule: d.Rule, Sentence: d.Sentence, Inputs: listed(inputs), Wanted: d.Wanted,
		Allowed: d.Allowed, Limit: d.Limit, Failed: d.Failed,
	}
}

// listDecisions answers the newest first, a page at a time.
func (a *jobsAPI) listDecisions(x *exchange, _ string) error {
	p, err := readParameters(x.r, "kind", "queue", "worker_id", "tick", "limit", "cursor")
	if err != nil {
		return err
	}
	filter := fleet.DecisionFilter{Kind: fleet.Kind(p.Get("kind")), Queue: p.Get("queue"), WorkerID: p.Get("worker_id"),
		Tick: p.Get("tick"), Before: p.Get("cursor")}
	for _, name := range []string{"kind", "queue", "worker_id", "tick", "cursor"} {
		if !plainText(p.Get(name)) {
			return invalid(name, "%s: %.60q is not printable text.", name, p.Get(name))
		}
	}
	if filter.Kind != "" && !slices.Contains(fleet.Kinds(), filter.Kind) {
		return invalid("kind", "kind: %.60q is none of %s.", filter.Kind, strings.Trim(fmt.Sprint(fleet.Kinds()), "[]"))
	}
	if filter.Limit, err = p.limit(pageOfJobs, longestPage); err != nil {
		return err
	}
	ctx, cancel := x.ask()
	defer cancel()
	page, err := a.cfg.Scaling.Decisions(ctx, filter)
	if errors.Is(err, fleet.ErrNotFound) {
		return invalid("cursor", "cursor: %.60q is none that this server gave, or its decision is too old to be kept.", filter.Before)
	}
	if err != nil {
		return jobFault(err)
	}
	answer := struct {
		Decisions []ScalingDecision `json:"decisions"`
		Next      string            `json:"next,omitempty"`
	}{Decisions: make([]ScalingDecision, len(page))}
	for i := range page {
		answer.Decisions[i] = told(page[i])
	}
	if len(page) == filter.Limit {
		answer.Next = page[len(page)-1].ID
		p.linkNext(x, answer.Next)
	}
	return a.writeJSON(x, http.StatusOK, answer)
}

const (
	// daysOfSpending is how many days are summed up, and the most that may be.
	daysOfSpending, mostDays = 7, 366
)

// spendQuery is what is asked of money.
type spendQuery struct {
	days, limit int
	zone        *time.Location
	before      int64
}

func (p parameters) spending() (q spendQuery, err error) {
	q = spendQuery{days: daysOfSpending, zone: time.UTC}
	if text := p.Get("days"); text != "" {
		if q.days, err = strconv.Atoi(text); err != nil || q.days < 1 || q.days > mostDays {
			return q, invalid("days", "days: %.60q is not a whole number from 1 to %d.", text, mostDays)
		}
	}
	if text := p.Get("timezone"); text != "" {
		if q.zone, err = time.LoadLocation(text); err != nil || text == "Local" {
			return q, invalid("timezone", "timezone: %.60q is no name of a time zone, such as Europe/Paris.", text)
		}
	}
	if text := p.Get("cursor"); text != "" {
		if q.before, err = strconv.ParseInt(text, 10, 64); err != nil || q.before < 1 {
			return q, invalid("cursor", "cursor: %.60q is none that this server gave.", text)
		}
	}
	q.limit, err = p.limit(pageOfJobs, longestPage)
	return q, err
}

// showSpend sums money up by day and lists what was booked, the newest first.
func (a *jobsAPI) showSpend(x *exchange, _ string) error {
	p, err := readParameters(x.r, "days", "timezone", "limit", "cursor")
	if err != nil {
		return err
	}
	q, err := p.spending()
	if err != nil {
		return err
	}
	ctx, cancel := x.ask()
	defer cancel()
	now := a.Server.cfg.Now().In(q.zone)
	// Days without a midnight are found by their noon.
	noon := time.Date(now.Year(), now.Month(), now.Day(), 12, 0, 0, 0, q.zone)
	from, until := fleet.Midnight(noon.AddDate(0, 0, 1-q.days), q.zone), fleet.Midnight(noon.AddDate(0, 0, 1), q.zone)
	days, err := a.cfg.Scaling.Spending(ctx, from, until, q.zone)
	if err != nil {
		return jobFault(err)
	}
	page, err := a.cfg.Scaling.SpendEntries(ctx, q.before, q.limit)
	if err != nil {
		return jobFault(err)
	}
	answer := struct {
		Days    []fleet.Spending `json:"days"`
		Entries []ScalingEntry   `json:"entries"`
		Next    string           `json:"next,omitempty"`
	}{Days: listed(days), Entries: make([]ScalingEntry, len(page))}
	for i, e := range page {
		answer.Entries[i] = ScalingEntry{ID: strconv.FormatInt(e.ID, 10), At: e.At.UTC(), WorkerID: e.WorkerID, Provider: e.Provider,
			Queue: e.Queue, Kind: e.Kind, From: e.From.UTC(), Until: e.Until.UTC(), Amount: e.Amount}
	}
	if len(page) == q.limit {
		answer.Next = answer.Entries[len(page)-1].ID
		p.linkNext(x, answer.Next)
	}
	return a.writeJSON(x, http.StatusOK, answer)
}
