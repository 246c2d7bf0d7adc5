package fleet_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/fleet"
)

// keyCase says what a key of the sample file changes: the same snapshot is
// decided on with two values of it.
type keyCase struct {
	edits         []edit // other keys, so that this one can matter
	snap          func(*fleet.Snapshot)
	from, to      any
	before, after string // what about gives
	about         func([]fleet.Decision) string
}

// TestEveryKeyOfTheSampleFileChangesADecision walks the file, so that a key
// without a case fails it.
func TestEveryKeyOfTheSampleFileChangesADecision(t *testing.T) {
	cases := keyCases()
	keys := leaves(t)
	if diff := cmp.Diff(keys, slices.Sorted(maps.Keys(cases))); diff != "" {
		t.Fatal("keys of the file and cases:", diff)
	}
	for _, key := range keys {
		c := cases[key]
		t.Run(key, func(t *testing.T) {
			for _, side := range []struct {
				value any
				want  string
			}{{c.from, c.before}, {c.to, c.after}} {
				s := quiet()
				c.snap(&s)
				all := fleet.Decide(noon, settings(t, append(slices.Clone(c.edits), set(key, side.value))...), s)
				if got := c.about(all); got != side.want {
					t.Errorf("%v: %q, not %q\n%s", side.value, got, side.want, show(all))
				}
			}
		})
	}
}

// leaves are the paths of all values in the sample file.
func leaves(t *testing.T) []string {
	t.Helper()
	var file map[string]any
	if err := json.Unmarshal(sample(t), &file); err != nil {
		t.Fatal(err)
	}
	var out []string
	var walk func(prefix string, at map[string]any)
	walk = func(prefix string, at map[string]any) {
		for k, v := range at {
			if below, ok := v.(map[string]any); ok {
				walk(prefix+k+".", below)
			} else {
				out = append(out, prefix+k)
			}
		}
	}
	walk("", file)
	slices.Sort(out)
	return out
}

func keyCases() map[string]keyCase {
	cases := map[string]keyCase{
		"mode":                        {nil, many("media"), "hybrid", "vps_only", "launch", "hold mode", first("media")},
		"evaluation_interval_seconds": {nil, spent(fleet.Cents(490), 0), 60, 3600, "launch", "hold hourly_limit", first("media")},
	}
	for _, group := range []map[string]keyCase{queueCases(), awsCases(), googleCases(), ionosCases(), ruleCases(), limitCases()} {
		maps.Copy(cases, group)
	}
	return cases
}

func queueCases() map[string]keyCase {
	cases := map[string]keyCase{}
	for _, q := range []string{"images", "documents", "ocr", "media", "bulk"} {
		key := "queues." + q + "."
		on, two := set(key+"cloud_enabled", true), set(key+"max_workers", 2)
		cases[key+"cloud_enabled"] = keyCase{[]edit{two}, many(q), false, true, "hold cloud_disabled", "launch", first(q)}
		cases[key+"max_workers"] = keyCase{[]edit{on, set(key+"baseline_workers", 1)}, many(q), 1, 2, "hold max_workers", "launch", first(q)}
		cases[key+"baseline_workers"] = keyCase{[]edit{on, two}, many(q), 1, 2, "launch", "hold max_workers", first(q)}
		if q == "ocr" || q == "media" || q == "bulk" {
			cases[key+"cloud_provider"] = keyCase{[]edit{on, set("cloud_providers.google.enabled", true)}, urgent(q), nil, "google", "aws", "google", launched(provider)}
		}
	}
	cases["queues.bulk.spot_preferred"] = keyCase{[]edit{set("queues.bulk.cloud_enabled", true)}, func(s *fleet.Snapshot) {
		many("bulk")(s)
		add(s, cloud("a", onSpot, func(w *fleet.Worker) { w.Queues = []string{"bulk"} }))
	}, false, true, "on_demand", "spot", launched(market)}
	return cases
}

func awsCases() map[string]keyCase {
	const key = "cloud_providers.aws."
	both := []edit{set("cloud_providers.google.enabled", true), set("cloud_providers.google.preemptible", false)}
	return map[string]keyCase{
		key + "enabled":        {both, urgent("media"), true, false, "aws", "google", launched(provider)},
		key + "region":         {both, urgent("media"), "eu-west-3", "us-east-1", "aws", "google", launched(provider)},
		key + "instance_type":  {nil, bulky("media"), "c6i.xlarge", "c5.xlarge", "c6i.xlarge", "c5.xlarge", launched(kind)},
		key + "ami_id":         {nil, many("media"), "ami-0123456789abcdef0", "ami-0123456789abcdef1", "ami-0123456789abcdef0", "ami-0123456789abcdef1", launched(image)},
		key + "max_instances":  {nil, one("aws", "c6i.xlarge"), 1, 2, "hold max_instances", "launch", first("media")},
		key + "spot_enabled":   {nil, bulky("media"), true, false, "spot", "on_demand", launched(market)},
		key + "spot_max_price": {nil, bulky("media"), "0.08", "0.05", "spot 8 cents", "on_demand 0 cents", launched(bid)},
	}
}

func googleCases() map[string]keyCase {
	const key = "cloud_providers.google."
	google := []edit{set("cloud_providers.aws.enabled", false), set("cloud_providers.google.enabled", true), set("cloud_providers.google.image", "projects/p/global/images/a")}
	both := []edit{set("cloud_providers.aws.spot_enabled", false)}
	return map[string]keyCase{
		key + "enabled":       {both, bulky("media"), false, true, "aws", "google", launched(provider)},
		key + "zone":          {append(slices.Clone(both), set(key+"enabled", true)), bulky("media"), "europe-west1-b", "europe-west1-c", "google", "aws", launched(provider)},
		key + "machine_type":  {google, bulky("media"), "c2-standard-4", "n2-standard-4", "c2-standard-4", "n2-standard-4", launched(kind)},
		key + "image":         {google, many("media"), "projects/p/global/images/a", "projects/p/global/images/b", "projects/p/global/images/a", "projects/p/global/images/b", launched(image)},
		key + "max_instances": {google, one("google", "c2-standard-4"), 1, 2, "hold max_instances", "launch", first("media")},
		key + "preemptible":   {google, bulky("media"), true, false, "spot", "on_demand", launched(market)},
	}
}

// ionosCases ask for machines of a provider that nobody can ask here, so that
// all comes from the file.
func ionosCases() map[string]keyCase {
	const key = "cloud_providers.ionos."
	price := map[string]any{"on_demand_cents_per_hour": 18}
	ionos := []edit{
		set("cloud_providers.aws.enabled", false), set(key+"enabled", true),
		set(key+"prices", map[string]any{"c6i.xlarge": price, "VCPU": price}),
	}
	unasked := func(s *fleet.Snapshot) {
		urgent("media")(s)
		s.Offers, s.Unasked = nil, []string{"ionos"}
	}
	place := func(c fleet.Candidate) string { return c.Zone }
	return map[string]keyCase{
		key + "enabled":       {ionos[:1], urgent("media"), true, false, "launch", "hold provider", first("media")},
		key + "datacenter":    {ionos, unasked, "de/fra", "de/txl", "de/fra", "de/txl", launched(place)},
		key + "server_type":   {ionos, unasked, "c6i.xlarge", "VCPU", "c6i.xlarge", "VCPU", launched(kind)},
		key + "image":         {ionos, unasked, "one", "two", "one", "two", launched(image)},
		key + "max_instances": {ionos, one("ionos", "c6i.xlarge"), 1, 2, "hold max_instances", "launch", first("media")},
	}
}

func ruleCases() map[string]keyCase {
	const up, down = "scaling_rules.scale_up.", "scaling_rules.scale_down."
	idle := func(change func(*fleet.Snapshot)) func(*fleet.Snapshot) {
		return func(s *fleet.Snapshot) {
			add(s, cloud("a", idleFor(12*time.Minute)))
			change(s)
		}
	}
	return map[string]keyCase{
		up + "queue_depth_threshold":  {nil, func(s *fleet.Snapshot) { waiting(s, "media", 12, 0) }, 12, 13, "launch", "hold below_thresholds", first("media")},
		up + "oldest_job_age_seconds": {nil, func(s *fleet.Snapshot) { waiting(s, "media", 1, time.Minute) }, 60, 61, "launch", "hold below_thresholds", first("media")},
		up + "cooldown_seconds": {nil, func(s *fleet.Snapshot) {
			many("media")(s)
			s.Memory.LastUp = map[string]time.Time{"media": noon.Add(-time.Minute)}
		}, 60, 61, "launch", "hold cooldown", first("media")},
		down + "idle_minutes":      {nil, idle(func(*fleet.Snapshot) {}), 11, 12, "drain a", "hold below_thresholds", first("media")},
		down + "queue_depth_below": {nil, idle(func(s *fleet.Snapshot) { waiting(s, "media", 3, 0) }), 4, 3, "drain a", "hold below_thresholds", first("media")},
		down + "cooldown_seconds":  {nil, idle(func(s *fleet.Snapshot) { fell(s, time.Minute) }), 60, 61, "drain a", "hold below_thresholds", first("media")},
	}
}

func limitCases() map[string]keyCase {
	const key = "cost_limits."
	alerted := func(all []fleet.Decision) string {
		for _, x := range all {
			if x.Kind == fleet.KindAlert && x.Alert != nil && x.Alert.Name == "spend_threshold" {
				return x.Alert.Threshold
			}
		}
		return "no alert"
	}
	return map[string]keyCase{
		key + "max_hourly_spend_cents": {nil, spent(fleet.Cents(100), 0), 500, 100, "launch", "hold hourly_limit", first("media")},
		key + "max_daily_spend_cents":  {nil, spent(0, fleet.Cents(1000)), 5000, 1001, "launch", "hold daily_limit", first("media")},
		key + "alert_threshold_cents":  {nil, spent(0, fleet.Cents(1000)), 1001, 1000, "no alert", "1000 cents", alerted},
	}
}

// many puts enough jobs into a queue for a launch.
func many(queue string) func(*fleet.Snapshot) {
	return func(s *fleet.Snapshot) { waiting(s, queue, 50, time.Minute) }
}

// urgent jobs are for machines on demand, bulky ones for spot.
func urgent(queue string) func(*fleet.Snapshot) {
	return func(s *fleet.Snapshot) { interactive(waiting(s, queue, 50, time.Minute)) }
}

func bulky(queue string) func(*fleet.Snapshot) {
	return func(s *fleet.Snapshot) {
		waiting(s, queue, 50, time.Minute).Waits = fleet.Waits{Bulk: 50}
		s.Offers = append(s.Offers,
			offer("aws", "c5.xlarge", "eu-west-3a", fleet.Spot, "7.48"),
			offer("google", "n2-standard-4", "europe-west1-b", fleet.Spot, "5"))
	}
}

// one machine is there already.
func one(provider, kind string) func(*fleet.Snapshot) {
	return func(s *fleet.Snapshot) {
		urgent("media")(s)
		add(s, cloud("a", func(w *fleet.Worker) { w.Provider, w.Type = provider, kind }))
	}
}

func spent(hour, day fleet.Money) func(*fleet.Snapshot) {
	return func(s *fleet.Snapshot) {
		urgent("media")(s)
		s.Spend = fleet.Spend{Hour: hour, Day: day}
	}
}

// first is the first decision about a queue.
func first(queue string) func([]fleet.Decision) string {
	return func(all []fleet.Decision) string {
		if words := of(queue, all); len(words) > 0 {
			return words[0]
		}
		return "nothing"
	}
}

// launched reads the best candidate of the first launch.
func launched(read func(fleet.Candidate) string) func([]fleet.Decision) string {
	return func(all []fleet.Decision) string {
		for _, x := range all {
			if x.Kind == fleet.KindLaunch {
				return read(x.Launch.Candidates[0])
			}
		}
		return "no launch"
	}
}

func provider(c fleet.Candidate) string { return c.Provider }
func kind(c fleet.Candidate) string     { return c.Type }
func image(c fleet.Candidate) string    { return c.Image }
func market(c fleet.Candidate) string   { return string(c.Market) }
func bid(c fleet.Candidate) string      { return fmt.Sprintf("%s %s", c.Market, c.Bid) }
