package fleet_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// noon is when these tests happen.
var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// edit changes the settings file, as an operator would.
type edit func(file map[string]any)

// set puts a value at a path such as "queues.media.max_workers".
func set(path string, value any) edit {
	return func(file map[string]any) {
		keys := strings.Split(path, ".")
		for _, k := range keys[:len(keys)-1] {
			next, ok := file[k].(map[string]any)
			if !ok {
				next = map[string]any{}
				file[k] = next
			}
			file = next
		}
		file[keys[len(keys)-1]] = value
	}
}

// settings are the sample file with the cloud switched on for media at aws, and
// then edited.
func settings(t testing.TB, edits ...edit) fleet.Config {
	t.Helper()
	var file map[string]any
	if err := json.Unmarshal(sample(t), &file); err != nil {
		t.Fatal(err)
	}
	on := []edit{
		set("mode", "hybrid"), set("queues.media.cloud_enabled", true), set("cloud_providers.aws.enabled", true),
		set("cloud_providers.aws.ami_id", "ami-0123456789abcdef0"), set("cloud_providers.aws.spot_max_price", "0.12"),
	}
	for _, e := range append(on, edits...) {
		e(file)
	}
	text, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := fleet.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func offer(provider, kind, zone string, market fleet.Market, cents string) fleet.Offer {
	price, _ := fleet.ParseCents(cents)
	return fleet.Offer{Place: fleet.Place{Provider: provider, Type: kind, Zone: zone, Market: market}, Price: price, Slots: 1, Source: "live"}
}

// quiet is a fleet in which nothing waits and only the VPS worker is there.
func quiet() fleet.Snapshot {
	s := fleet.Snapshot{
		At: noon, FleetID: "f1",
		Workers: []fleet.Worker{vps("w-vps")},
		Inventories: map[string]fleet.Inventory{
			"aws": {}, "google": {}, "ionos": {}, "process": {},
		},
		Offers: []fleet.Offer{
			offer("aws", "c6i.xlarge", "eu-west-3a", fleet.OnDemand, "20.2"),
			offer("aws", "c6i.xlarge", "eu-west-3a", fleet.Spot, "7.48"),
			offer("google", "c2-standard-4", "europe-west1-b", fleet.OnDemand, "22.97"),
			offer("google", "c2-standard-4", "europe-west1-b", fleet.Spot, "5.56"),
			offer("ionos", "c6i.xlarge", "de/fra", fleet.OnDemand, "18"),
		},
		Memory: fleet.Memory{Inventoried: true},
	}
	for _, name := range []string{"bulk", "documents", "images", "media", "ocr"} {
		s.Queues = append(s.Queues, fleet.QueueState{Name: name, Source: "redis", Service: 30 * time.Second})
	}
	return s
}

// waiting puts standard jobs into a queue.
func waiting(s *fleet.Snapshot, queue string, depth int64, oldest time.Duration) *fleet.QueueState {
	for i := range s.Queues {
		if q := &s.Queues[i]; q.Name == queue {
			q.Depth, q.Rows, q.Oldest = depth, depth, oldest
			q.Bands = [3]fleet.Band{fleet.Standard: {Depth: depth, Oldest: oldest}}
			q.Waits = fleet.Waits{Standard: depth}
			return q
		}
	}
	return nil
}

// interactive makes the jobs of a queue such as may not run on spot.
func interactive(q *fleet.QueueState) {
	q.Bands[fleet.Interactive], q.Bands[fleet.Standard] = q.Bands[fleet.Standard], fleet.Band{}
	q.Waits = fleet.Waits{Interactive: q.Depth}
}

func vps(id string) fleet.Worker {
	return fleet.Worker{
		ID: id, Place: fleet.Place{Provider: "vps", Market: fleet.VPS}, Slots: 4, Status: fleet.Active,
		Queues: []string{"bulk", "documents", "images", "media", "ocr"}, RegisteredAt: noon.Add(-24 * time.Hour), LastHeartbeat: noon,
	}
}

// cloud is a worker that has been busy at aws for an hour.
func cloud(id string, change ...func(*fleet.Worker)) fleet.Worker {
	w := fleet.Worker{
		ID: id, Place: fleet.Place{Provider: "aws", Type: "c6i.xlarge", Zone: "eu-west-3a", Market: fleet.OnDemand}, InstanceID: "i-" + id,
		Queues: []string{"media"}, Slots: 1, Status: fleet.Active, Claimed: 1, CurrentJobs: 1,
		ProvisionedAt: noon.Add(-time.Hour), LaunchedAt: noon.Add(-time.Hour), RegisteredAt: noon.Add(-57 * time.Minute),
		LastHeartbeat: noon, LastJobCompletedAt: noon.Add(-time.Minute), AccruedUntil: noon,
		Origin: fleet.OriginTick, Rate: fleet.Cents(20), Ceiling: fleet.Cents(20),
	}
	for _, c := range change {
		c(&w)
	}
	return w
}

// idleFor leaves a worker without jobs since then.
func idleFor(d time.Duration) func(*fleet.Worker) {
	return func(w *fleet.Worker) { w.Claimed, w.CurrentJobs, w.LastJobCompletedAt = 0, 0, noon.Add(-d) }
}

// launching is a machine whose worker has not registered.
func launching(w *fleet.Worker) {
	w.Status, w.Claimed, w.CurrentJobs, w.Slots = fleet.Provisioning, 0, 0, 1
	w.ProvisionedAt, w.LaunchedAt = noon.Add(-time.Minute), noon.Add(-time.Minute)
	w.RegisteredAt, w.LastHeartbeat, w.LastJobCompletedAt = time.Time{}, time.Time{}, time.Time{}
}

func draining(w *fleet.Worker) { w.Status, w.DrainDeadline = fleet.Draining, noon.Add(4*time.Minute) }

func onSpot(w *fleet.Worker) { w.Market = fleet.Spot }

// add puts workers into the snapshot and their machines into the inventory, with
// enough readings of those that are idle.
func add(s *fleet.Snapshot, ws ...fleet.Worker) {
	if s.Memory.Idle == nil {
		s.Memory.Idle = map[string]int{}
	}
	for _, w := range ws {
		s.Workers = append(s.Workers, w)
		if w.Claimed == 0 {
			s.Memory.Idle[w.ID] = 5
		}
		inventory := s.Inventories[w.Provider]
		inventory.Machines = append(inventory.Machines, fleet.Machine{
			Place: w.Place, ID: w.InstanceID, WorkerID: w.ID, State: fleet.MachineRunning, LaunchedAt: w.LaunchedAt,
		})
		s.Inventories[w.Provider] = inventory
	}
}

// of are the decisions about a queue, alerts left out, in one word each: the
// kind and, for a hold, its rule.
func of(queue string, all []fleet.Decision) []string {
	var out []string
	for _, x := range all {
		if x.Queue != queue || x.Kind == fleet.KindAlert {
			continue
		}
		word := string(x.Kind)
		if x.Kind == fleet.KindHold {
			word += " " + x.Rule
		} else if x.WorkerID != "" {
			word += " " + x.WorkerID
		}
		out = append(out, word)
	}
	return out
}

// only is the one decision of a kind.
func only(t *testing.T, kind fleet.Kind, all []fleet.Decision) fleet.Decision {
	t.Helper()
	var found []fleet.Decision
	for _, x := range all {
		if x.Kind == kind {
			found = append(found, x)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d decisions of kind %s:\n%s", len(found), kind, show(all))
	}
	return found[0]
}

func count(kind fleet.Kind, all []fleet.Decision) int {
	n := 0
	for _, x := range all {
		if x.Kind == kind {
			n++
		}
	}
	return n
}

func show(all []fleet.Decision) string {
	var b strings.Builder
	for _, x := range all {
		fmt.Fprintf(&b, "  %-9s %-10s %-8s %-32s wanted %d allowed %d limit %q: %s\n", x.Kind, x.Queue, x.WorkerID, x.Rule, x.Wanted, x.Allowed, x.Limit, x.Sentence)
	}
	return b.String()
}
