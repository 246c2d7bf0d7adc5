package fleet

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// observed is a snapshot and where it came from.
type observed struct {
	snap  Snapshot
	local time.Time // the scheduler's own clock at snap.At
}

// now is the database's time, some time after the snapshot.
func (o *observed) now(local time.Time) time.Time {
	return o.snap.At.Add(max(0, local.Sub(o.local)))
}

// observe makes a snapshot. What fails is in its Faults; without a database it
// is the last one that the database told, as of now, with the inventories as
// they are. book also puts the cost of machines into the ledger, so that what
// is decided is decided on money up to now.
func (s *Scheduler) observe(ctx context.Context, cfg Config, book bool) *observed {
	o := &observed{local: s.Clock()}
	depths := make(chan func(*Snapshot), 1)
	go func() { depths <- s.askDepths(ctx, cfg) }()
	if err := s.askDatabase(ctx, cfg, o, book); err != nil {
		s.recall(cfg, o, err)
	}
	(<-depths)(&o.snap)
	if o.snap.Fault(sourceDatabase) == nil {
		s.last = &observed{snap: o.snap, local: o.local}
	}
	s.askSettings(&o.snap)
	s.askProviders(ctx, cfg, &o.snap, !book)
	s.reprice(o.snap.Offers)
	clampTimes(&o.snap)
	return o
}

// askSettings notes whether what is decided by is what the operator has written.
func (s *Scheduler) askSettings(snap *Snapshot) {
	snap.Refused = ""
	if err := s.Refused(); err != nil {
		snap.Refused = strings.ReplaceAll(reasonOf(err), "\n", "; ")
	}
}

// askDatabase fills in what the database knows.
func (s *Scheduler) askDatabase(ctx context.Context, cfg Config, o *observed, book bool) error {
	ctx, cancel := context.WithTimeout(ctx, databaseTime)
	defer cancel()
	if book { // a limit that tripped while the database was away
		if err := s.settleLatch(ctx); err != nil {
			return err
		}
	}
	state, err := s.Ledger.State(ctx)
	if err != nil {
		return fmt.Errorf("read state: %w", err)
	}
	at, queues, err := s.Demand.Demand(ctx, sortedKeys(cfg.Queues))
	if err != nil {
		return fmt.Errorf("count queues: %w", err)
	}
	o.local = s.Clock()
	workers, err := s.Rows.Fleet(ctx)
	if err != nil {
		return fmt.Errorf("list workers: %w", err)
	}
	if book {
		if err := s.book(ctx, at, workers); err != nil {
			return fmt.Errorf("book cost: %w", err)
		}
	}
	spend, err := s.spent(ctx, cfg, at, workers)
	if err != nil {
		return fmt.Errorf("sum cost: %w", err)
	}
	o.snap = Snapshot{
		At: at, FleetID: state.FleetID, Queues: queues, Workers: workers, Spend: spend,
		Latch: state.Latch, Memory: s.remembered(state), Requests: s.open(state.Requests),
	}
	return nil
}

// book puts the cost of machines up to now into the ledger, before anything is
// decided on: a machine that is found gone in this tick is paid for until now.
func (s *Scheduler) book(ctx context.Context, at time.Time, workers []Worker) error {
	entries := Accrue(at, workers, s.offers)
	if len(entries) == 0 {
		return nil
	}
	if err := s.Ledger.Record(ctx, Record{Entries: entries}); err != nil {
		return err
	}
	for _, e := range entries {
		advance(workers, e)
	}
	return nil
}

// spent sums up to now, and where the database's clock was put back, up to where
// it had been: what was booked then is spent.
func (s *Scheduler) spent(ctx context.Context, cfg Config, at time.Time, workers []Worker) (Spend, error) {
	until := at
	for _, w := range workers {
		if w.AccruedUntil.After(w.paidFrom(at).Add(w.Granularity)) {
			until = later(until, w.AccruedUntil)
		}
	}
	hour, err := s.Ledger.Spent(ctx, at.Add(-time.Hour), until)
	if err != nil {
		return Spend{}, err
	}
	day, err := s.Ledger.Spent(ctx, Midnight(at, cfg.Location), until)
	return Spend{Hour: hour, Day: day}, err
}

// remembered is the memory of the latest tick, recorded or not.
// What has been recorded meanwhile, by another scheduler or by a tick whose answer
// was lost, is later.
func (s *Scheduler) remembered(state State) Memory {
	if s.memory != nil && reflect.DeepEqual(state.Memory, s.base) {
		return *s.memory
	}
	s.memory, s.base = nil, state.Memory
	return state.Memory
}

// open are the requests that no tick has answered, recorded or not.
func (s *Scheduler) open(requests []Request) []Request {
	return slices.DeleteFunc(slices.Clone(requests), func(r Request) bool { return s.answered[r.ID] })
}

// recall is what is known without the database: what it last told, as of now.
func (s *Scheduler) recall(cfg Config, o *observed, err error) {
	fault := Fault{Source: sourceDatabase, Reason: reasonOf(err), Times: 1}
	o.snap = Snapshot{At: o.local, Faults: []Fault{fault}}
	if s.last == nil {
		return
	}
	snap := s.last.snap
	snap.At, snap.Requests = s.last.now(o.local), nil
	extrapolate(cfg, s.last.snap.At, &snap, s.offers)
	if s.memory != nil {
		snap.Memory = *s.memory
	}
	if s.latch != nil {
		snap.Latch = s.latch
	}
	fault.Times += snap.Memory.Faults[sourceDatabase]
	snap.Faults = []Fault{fault}
	o.snap = snap
}

// extrapolate books in memory what the machines have cost since the database was
// last heard of, at was. One that has ended meanwhile is counted as if it had not.
func extrapolate(cfg Config, was time.Time, snap *Snapshot, offers []Offer) {
	if Midnight(snap.At, cfg.Location).After(was) {
		snap.Spend.Day = 0
	}
	snap.Spend.Extrapolated = true
	snap.Workers = slices.Clone(snap.Workers)
	for _, e := range Accrue(snap.At, snap.Workers, offers) {
		snap.Spend.Hour += e.Share(snap.At.Add(-time.Hour), later(snap.At, e.Until))
		snap.Spend.Day += e.Share(Midnight(snap.At, cfg.Location), later(snap.At, e.Until))
		advance(snap.Workers, e)
	}
}

// advance notes in its worker that an entry is booked.
func advance(workers []Worker, e SpendEntry) {
	i := slices.IndexFunc(workers, func(w Worker) bool { return w.ID == e.WorkerID })
	if i >= 0 && e.Kind == SpendAccrual {
		workers[i].AccruedUntil = later(workers[i].AccruedUntil, e.Until)
	}
}

// askDepths answers what is to be written into the snapshot once there is one.
func (s *Scheduler) askDepths(ctx context.Context, cfg Config) func(*Snapshot) {
	if s.Depths == nil {
		return func(*Snapshot) {}
	}
	depths, err := bounded(ctx, s.calls, "redis", redisTime, func(ctx context.Context) (map[string]int64, error) {
		return s.Depths.Depths(ctx, sortedKeys(cfg.Queues))
	})
	return func(snap *Snapshot) {
		if err != nil {
			snap.fail(sourceRedis, err)
			return
		}
		if snap.Fault(sourceDatabase) != nil {
			return // the other figures are old
		}
		for i := range snap.Queues {
			q := &snap.Queues[i]
			q.Depth, q.Source = depths[q.Name], sourceRedis
		}
	}
}

// fail notes a fault.
func (s *Snapshot) fail(source string, err error) {
	s.Faults = append(s.Faults, Fault{Source: source, Reason: reasonOf(err), Times: s.Memory.Faults[source] + 1})
}

// reasonOf is an error in words of bounded length.
func reasonOf(err error) string {
	const most = 300
	text := err.Error()
	if len(text) > most {
		text = text[:most] + "..."
	}
	return text
}

// askProviders lists machines and prices, all providers at once. Those that are
// not enabled any more are asked for as long as they have machines in the rows.
func (s *Scheduler) askProviders(ctx context.Context, cfg Config, snap *Snapshot, dry bool) {
	snap.Inventories, snap.Offers, snap.Unasked = map[string]Inventory{}, nil, nil
	var asking sync.WaitGroup
	var mu sync.Mutex // snap
	needed := s.providersOf(cfg, snap)
	for _, name := range s.withOthers(needed, snap.At, dry) {
		p := s.Providers[name]
		if p == nil {
			s.cannotAsk(name, snap, &mu, dry)
			continue
		}
		if snap.FleetID != "" { // without it, nobody knows which machines are meant
			asking.Go(func() { s.askInventory(ctx, name, p, snap, &mu, slices.Contains(needed, name)) })
		}
		if config := cfg.Providers[name]; config.Enabled {
			asking.Go(func() { s.askOffers(ctx, name, p, config, snap, &mu) })
		}
	}
	asking.Wait()
	slices.SortFunc(snap.Faults, func(a, b Fault) int { return cmp.Compare(a.Source, b.Source) })
	slices.SortFunc(snap.Offers, func(a, b Offer) int { return cmp.Compare(a.String(), b.String()) })
	snap.Memory.Inventoried = s.allListed(cfg, snap, dry)
}

// providersOf are the names of providers that matter, in order: the enabled
// ones, and those where there is something to be ended.
func (s *Scheduler) providersOf(cfg Config, snap *Snapshot) []string {
	names := map[string]bool{}
	for name, p := range cfg.Providers {
		if p.Enabled {
			names[name] = true
		}
	}
	for _, w := range snap.Workers {
		if w.Provider != string(VPS) && w.Provider != "" {
			names[w.Provider] = true
		}
	}
	for key := range snap.Memory.Strays {
		if name, _, _ := strings.Cut(key, "/"); s.Providers[name] != nil {
			names[name] = true
		}
	}
	return sortedKeys(names)
}

// withOthers adds, each quarter of an hour, the providers of which nothing is
// known to matter: one that was switched off may have a machine that no row
// stands for, as after a database was restored.
func (s *Scheduler) withOthers(needed []string, at time.Time, dry bool) []string {
	if since := at.Sub(s.looked); dry || since >= 0 && since < ReconcileEvery {
		return needed
	}
	s.looked = at
	names := slices.Concat(needed, sortedKeys(s.Providers))
	slices.Sort(names)
	return slices.Compact(names)
}

// cannotAsk is for a provider that is not in the program.
func (s *Scheduler) cannotAsk(name string, snap *Snapshot, mu *sync.Mutex, dry bool) {
	mu.Lock()
	defer mu.Unlock()
	if !dry {
		snap.fail(sourceProvider+name, fmt.Errorf("this program has no provider %s", name))
		return
	}
	snap.Unasked = append(snap.Unasked, name)
}

// reprice keeps the latest offer of each place: what spot machines cost until
// the next tick is booked at these prices.
func (s *Scheduler) reprice(offers []Offer) {
	for _, o := range offers {
		s.offers = slices.DeleteFunc(s.offers, func(old Offer) bool { return old.Place == o.Place })
	}
	s.offers = append(s.offers, offers...)
}

// patience is how long a provider may take that has failed so many times in a
// row: while it hangs, ticks of all queues wait for it, so only each fifth gives
// it the time that a slow one needs.
func patience(failed int) time.Duration {
	if failed%5 != 0 {
		return inventoryTime / 6
	}
	return inventoryTime
}

func (s *Scheduler) askInventory(ctx context.Context, name string, p Provider, snap *Snapshot, mu *sync.Mutex, needed bool) {
	list, err := bounded(ctx, s.calls, "inventory of "+name, patience(snap.Memory.Faults[sourceProvider+name]), func(ctx context.Context) (Inventory, error) {
		return p.Inventory(ctx, snap.FleetID)
	})
	mu.Lock()
	defer mu.Unlock()
	if err != nil {
		if needed { // one that is switched off need not answer
			snap.fail(sourceProvider+name, err)
		}
		return
	}
	for i := range list.Machines {
		list.Machines[i].Provider = name
	}
	snap.Inventories[name] = list
	s.listed[name] = true
}

func (s *Scheduler) askOffers(ctx context.Context, name string, p Provider, config ProviderConfig, snap *Snapshot, mu *sync.Mutex) {
	failed := max(snap.Memory.Faults[sourcePrices+name], snap.Memory.Faults[sourceProvider+name])
	offers, err := bounded(ctx, s.calls, "prices of "+name, patience(failed), p.Offers)
	mu.Lock()
	defer mu.Unlock()
	if err != nil {
		snap.fail(sourcePrices+name, err)
		return
	}
	offers = slices.Clone(offers)
	for i := range offers {
		offers[i].Provider = name
	}
	config.completeAll(offers)
	snap.Offers = append(snap.Offers, offers...)
}

// allListed is true when every enabled provider has been listed since this
// scheduler became the leader.
func (s *Scheduler) allListed(cfg Config, snap *Snapshot, dry bool) bool {
	for name, p := range cfg.Providers {
		_, now := snap.Inventories[name]
		listed := s.listed[name] || dry && (now || slices.Contains(snap.Unasked, name))
		if p.Enabled && !listed {
			return false
		}
	}
	return true
}

// clampTimes takes times in the future for now: clocks of machines and of
// providers are not the database's.
func clampTimes(snap *Snapshot) {
	clamp := func(t *time.Time) {
		if t.After(snap.At) {
			*t = snap.At
		}
	}
	for i := range snap.Workers {
		w := &snap.Workers[i]
		for _, t := range []*time.Time{&w.ProvisionedAt, &w.LaunchedAt, &w.RegisteredAt, &w.LastHeartbeat, &w.LastJobCompletedAt, &w.TerminateAt, &w.CPUAt} {
			clamp(t)
		}
	}
	for _, list := range snap.Inventories {
		for i := range list.Machines {
			m := &list.Machines[i]
			if ahead := m.TerminatedAt.Sub(snap.At); ahead > 0 && !m.LaunchedAt.IsZero() {
				m.LaunchedAt = m.LaunchedAt.Add(-ahead) // how long it ran is exact all the same
			}
			clamp(&m.LaunchedAt)
			clamp(&m.TerminatedAt)
		}
	}
	for i := range snap.Queues {
		q := &snap.Queues[i]
		q.Oldest = max(q.Oldest, 0)
		for b := range q.Bands {
			q.Bands[b].Oldest = max(q.Bands[b].Oldest, 0)
		}
	}
}
