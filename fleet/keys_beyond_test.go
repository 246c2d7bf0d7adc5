package fleet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// elsewhere are keys that no decision of Decide is made of, with the test that
// holds them.
var elsewhere = map[string]string{
	"timezone":                    "TestEveryMomentBelongsToTheDayThatItsMidnightBegan",
	"credit_margin_percent":       "TestCreditsAreComparedWithCost",
	"queues.credit_cents_per_job": "TestCreditsAreComparedWithCost",
	"cores":                       "TestParseTellsEveryFaultByItsPath", "ram_mb": "TestParseTellsEveryFaultByItsPath", // for the cloud to read
	"command": "TestParseTellsEveryFaultByItsPath",
	"alerts":  "TestAnAlertThatGoesOnIsToldOnceInItsQuietPeriod",
}

// TestEveryKeyBeyondTheSampleFileChangesADecision is the same for keys that the
// sample file does not have. A new key without a case fails it.
func TestEveryKeyBeyondTheSampleFileChangesADecision(t *testing.T) {
	cases := beyondCases()
	tried := map[string]bool{}
	for _, key := range beyond(t) {
		if elsewhere[key] != "" || tried[key] {
			continue
		}
		tried[key] = true
		c, ok := cases[key]
		if !ok {
			t.Errorf("%s: no case says what it changes", key)
			continue
		}
		t.Run(key, func(t *testing.T) {
			for _, side := range []struct {
				value any
				want  string
			}{{c.from, c.before}, {c.to, c.after}} {
				s := quiet()
				c.snap(&s)
				all := fleet.Decide(noon, settings(t, append(slices.Clone(c.edits), set(c.path, side.value))...), s)
				if got := c.about(all); got != side.want {
					t.Errorf("%v: %q, not %q\n%s", side.value, got, side.want, show(all))
				}
			}
		})
	}
	for key, test := range elsewhere {
		if !slices.ContainsFunc(beyond(t), func(k string) bool { return k == key }) || !written(t, test) {
			t.Errorf("%s is no key beyond the sample file, or there is no %s", key, test)
		}
	}
	for key := range cases {
		if !tried[key] {
			t.Errorf("%s has a case and is no key", key)
		}
	}
}

// written is true when the package has the test.
func written(t *testing.T, test string) bool {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(text), "\nfunc "+test+"(")
	})
}

// beyond are the known keys that the sample file does not have. Those of
// providers are the same for each, and so told once; groups are no keys.
func beyond(t *testing.T) []string {
	t.Helper()
	inSample := leaves(t)
	var out []string
	for _, k := range fleet.Keys() {
		path := strings.ReplaceAll(k.Path, ".*", "")
		parts := strings.Split(path, ".")
		switch {
		case parts[0] == "cloud_providers" && len(parts) > 2:
			path = strings.Join(parts[2:], ".")
		case parts[0] == "alerts":
			path = "alerts"
		}
		have := slices.ContainsFunc(inSample, func(leaf string) bool {
			return leaf == path || strings.HasPrefix(leaf, path+".") || parts[0] == "queues" && strings.HasSuffix(leaf, "."+parts[len(parts)-1]) ||
				parts[0] == "cloud_providers" && (len(parts) < 3 || len(parts) == 3 && strings.HasSuffix(leaf, "."+parts[2]))
		})
		if !have && path != "prices" {
			out = append(out, path)
		}
	}
	return out
}

type beyondCase struct {
	path string
	keyCase
}

func beyondCases() map[string]beyondCase {
	const aws = "cloud_providers.aws."
	idle := func(n int) func(*fleet.Snapshot) {
		return func(s *fleet.Snapshot) {
			for i := range n {
				add(s, cloud(fmt.Sprintf("w%d", i), idleFor(12*time.Minute)))
			}
		}
	}
	unpriced := func(market fleet.Market, jobs func(string) func(*fleet.Snapshot)) func(*fleet.Snapshot) {
		return func(s *fleet.Snapshot) {
			jobs("media")(s)
			s.Offers = []fleet.Offer{offer("aws", "c6i.xlarge", "eu-west-3a", market, "0")}
		}
	}
	price := func(key string, cents float64) map[string]any {
		return map[string]any{"c6i.xlarge": map[string]any{key: cents}}
	}
	google := set("cloud_providers.google.enabled", true)
	ended := func(all []fleet.Decision) string { return fmt.Sprint(removals(all)) }
	launches := func(all []fleet.Decision) string { return fmt.Sprint(count(fleet.KindLaunch, all)) }
	return map[string]beyondCase{
		"policy":               {"policy", keyCase{nil, func(s *fleet.Snapshot) { waiting(s, "media", 6, 0) }, "seed", "steps", "hold below_thresholds", "launch", first("media")}},
		"target_drain_seconds": {"target_drain_seconds", keyCase{[]edit{set("policy", "backlog")}, func(s *fleet.Snapshot) { waiting(s, "media", 40, 0) }, 300, 1200, "2", "0", launches}},
		"min_lifetime_minutes": {"min_lifetime_minutes", keyCase{nil, idle(1), 60, 61, "drain w0", "hold below_thresholds", first("media")}},
		"max_terminations_per_tick": {"max_terminations_per_tick", keyCase{nil, idle(3), 1, 2,
			"[w0 scale_down.idle_minutes]", "[w0 scale_down.idle_minutes w1 scale_down.idle_minutes]", ended}},
		"registration_timeout_seconds": {"registration_timeout_seconds", keyCase{nil, func(s *fleet.Snapshot) { add(s, cloud("a", launching)) }, 61, 60,
			"[]", "[a registration_timeout_seconds]", ended}},
		"provider_preference": {"provider_preference", keyCase{[]edit{google}, urgent("media"), []string{"aws"}, []string{"google"}, "aws", "google", launched(provider)}},
		"queues.batch":        {"queues.media.batch", keyCase{nil, many("media"), nil, "aws", "launch", "hold batch", first("media")}},
		"instance_types":      {aws + "instance_types", keyCase{nil, bulky("media"), []string{}, []string{"c5.xlarge"}, "c6i.xlarge", "c5.xlarge", launched(kind)}},
		"surcharge_cents_per_hour": {aws + "surcharge_cents_per_hour", keyCase{[]edit{google}, urgent("media"), 2, 3,
			"aws", "google", launched(provider)}},
		"prices.on_demand_cents_per_hour": {aws + "prices", keyCase{nil, unpriced(fleet.OnDemand, urgent), map[string]any{}, price("on_demand_cents_per_hour", 20),
			"hold no_price", "launch", first("media")}},
		"prices.spot_cents_per_hour": {aws + "prices", keyCase{nil, unpriced(fleet.Spot, func(queue string) func(*fleet.Snapshot) {
			return func(s *fleet.Snapshot) { waiting(s, queue, 50, time.Minute).Waits = fleet.Waits{Bulk: 50} }
		}), map[string]any{}, price("spot_cents_per_hour", 7), "hold no_price", "launch", first("media")}},
		"slots": {aws + "slots", keyCase{[]edit{set("policy", "backlog")}, func(s *fleet.Snapshot) {
			waiting(s, "media", 60, 0)
			slots(s, 0)
		}, 1, 4, "3", "1", launches}},
	}
}
