package httpapi_test

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/fleettest"
	"github.com/spillway-media/spillway/internal/httpapi"
	"github.com/spillway-media/spillway/jobs"
)

type decisionPage struct {
	Decisions []httpapi.ScalingDecision `json:"decisions"`
	Next      string                    `json:"next"`
}

type spendPage struct {
	Days    []fleet.Spending       `json:"days"`
	Entries []httpapi.ScalingEntry `json:"entries"`
	Next    string                 `json:"next"`
}

// decide records two decisions and the money of a minute.
func (b *jobBench) decide(t testing.TB) {
	t.Helper()
	at := time.Now().UTC().Truncate(time.Millisecond)
	hold := fleet.Decision{ID: "d1", Tick: "t1", At: at, Kind: fleet.KindHold, Origin: fleet.OriginTick, Queue: "images", Rule: "cooldown",
		Sentence: "Not scaling up images.", Inputs: []fleet.Fact{{Name: "depth", Value: "12"}}, Wanted: 2, Allowed: 1, Limit: "max_workers (1)"}
	launch := fleet.Decision{ID: "d2", Tick: "t2", At: at, Kind: fleet.KindLaunch, Origin: fleet.OriginManual, Queue: "ocr", WorkerID: "w-d2",
		Provider: "aws", Rule: "manual", Sentence: "Scaling up ocr: depth=3, oldest=4s", Failed: true, Outcome: "ami-1 was not found",
		Inputs: []fleet.Fact{{Name: "price_cents", Value: "20.2"}, {Name: "asked", Value: "1"}}}
	entry := fleet.SpendEntry{At: at, WorkerID: "w-d2", Place: fleet.Place{Provider: "aws", Type: "c6i.xlarge"}, Queue: "ocr",
		Kind: fleet.SpendAccrual, From: at.Add(-time.Millisecond), Until: at, Amount: 3333}
	if err := b.fleet.Record(t.Context(), fleet.Record{Decisions: []fleet.Decision{hold, launch}, Entries: []fleet.SpendEntry{entry}}); err != nil {
		t.Fatal(err)
	}
}

func TestDecisionsAreListed(t *testing.T) {
	b := newJobBench(t, nil)
	b.decide(t)
	for target, want := range map[string]string{
		"": "d2 d1", "?kind=hold": "d1", "?queue=ocr": "d2", "?worker_id=w-d2": "d2", "?tick=t1": "d1", "?kind=sweep": "", "?limit=1": "d2 next d2",
		"?limit=1&cursor=d2": "d1 next d1", "?cursor=d1": "",
	} {
		page := answer[decisionPage](t, b.call("GET", "/v1/scaling/decisions"+target, ""), 200)
		var got []string
		for _, d := range page.Decisions {
			got = append(got, d.ID)
		}
		if page.Next != "" {
			got = append(got, "next", page.Next)
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %q; want %q", target, text, want)
		}
	}
	page := answer[decisionPage](t, b.call("GET", "/v1/scaling/decisions?kind=launch", ""), 200)
	got := page.Decisions[0]
	got.At = time.Time{}
	want := httpapi.ScalingDecision{ID: "d2", Tick: "t2", Kind: "launch", Origin: "manual", Queue: "ocr", WorkerID: "w-d2", Provider: "aws",
		Rule: "manual", Sentence: "Scaling up ocr: depth=3, oldest=4s", Inputs: []fleet.Fact{{Name: "asked", Value: "1"}}, Failed: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSpendingIsShown(t *testing.T) {
	b := newJobBench(t, nil)
	b.decide(t)
	for _, target := range []string{"", "?days=366&timezone=Europe/Paris"} {
		page := answer[spendPage](t, b.call("GET", "/v1/scaling/spend"+target, ""), 200)
		if len(page.Days) != 1 || page.Days[0].Amount != 3333 || page.Days[0].Provider != "aws" || page.Days[0].Queue != "ocr" {
			t.Errorf("%s: the days are %+v", target, page.Days)
		}
		if len(page.Entries) != 1 || page.Entries[0].Amount != 3333 || page.Entries[0].ID != "1" || page.Next != "" {
			t.Errorf("%s: the entries are %+v, next %q", target, page.Entries, page.Next)
		}
	}
}

func TestScalingRefusesWhatItDoesNotKnow(t *testing.T) {
	b := newJobBench(t, nil)
	for _, target := range []string{
		"decisions?kinds=hold", "decisions?kind=lanch", "decisions?limit=201", "decisions?cursor=none", "decisions?queue=%00", "spend?days=0", "spend?days=367", "spend?days=x",
		"spend?timezone=Local", "spend?timezone=../../etc/passwd", "spend?timezone=Mars", "spend?cursor=-1", "spend?limit=0", "spend?from=1",
	} {
		if res := b.call("GET", "/v1/scaling/"+target, ""); res.StatusCode != 400 {
			t.Errorf("%s: %d %s", target, res.StatusCode, body(t, res))
		}
	}
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		for _, target := range []string{"/v1/scaling/decisions", "/v1/scaling/spend"} {
			if res := b.call(method, target, `{"mode":"cloud_first"}`); res.StatusCode != 405 {
				t.Errorf("%s %s: %d", method, target, res.StatusCode)
			}
		}
	}
	if res := send(b.public, "GET", "/v1/scaling/spend", ""); res.StatusCode != 401 {
		t.Errorf("without a token: %d", res.StatusCode)
	}
}

// planted is a scheduler's file with a value that stands nowhere else under
// every key whose value is the operator's own word or price.
func planted(t *testing.T) (file string, secrets []string) {
	t.Helper()
	text, err := os.ReadFile("../../deploy/scheduler.hybrid.json")
	if err != nil {
		t.Fatal(err)
	}
	key := t.TempDir() + "/planted-key-file"
	if err := os.WriteFile(key, []byte("planted-hmac-key-0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	file = string(text)
	for _, change := range [][2]string{
		{`"policy": "backlog"`, `"policy": "seed", "credit_margin_percent": 4391, "registration_timeout_seconds": 47123`},
		{`"eu-west-3"`, `"planted-region-1"`}, {`"c6i.xlarge"`, `"planted.type1"`}, {`"c5.xlarge"`, `"planted.type2"`},
		{`"ami-0123456789abcdef0"`, `"ami-0f1a47ed1f1a47ed1"`}, {`"0.12"`, `"0.187653"`}, {"20.2", "20.7391"}, {"7.48", "7.6193"},
		{`"surcharge_cents_per_hour": 1`, `"surcharge_cents_per_hour": 1.8377`}, {`"europe-west1-b"`, `"planted-zone1-b"`},
		{`"c2-standard-4"`, `"planted-standard-4"`}, {"hypermedia-worker-latest", "planted-image"}, {"22.97", "22.1973"}, {"5.56", "5.5137"},
		{`"de/fra"`, `"pl/ant"`}, {`"VCPU"`, `"PLANTED"`}, {"8192", "8448"}, {"0.05", "0.0577"}, {`"Europe/Paris"`, `"Pacific/Chatham"`},
		{`"cores": 4`, `"cores": 933`}, {`"quiet_minutes": 60`, `"quiet_minutes": 34157`},
		{`"ionos": {`, `"hook": {"enabled": false, "command": ["/opt/planted-hook", "--planted"]}, "ionos": {`},
		{`{ "kind": "log" }`, `{"kind": "webhook", "url": "https://planted.example/hook?planted-token", "key_file": "` + key + `",
			"template": "{\"planted-template\": {{json .Sentence}}}"}`},
	} {
		if !strings.Contains(file, change[0]) {
			t.Fatalf("the file has no %s", change[0])
		}
		file = strings.ReplaceAll(file, change[0], change[1])
	}
	return file, []string{
		"planted", "PLANTED", "f1a47ed", "0.187653", "187653", "18.7653", "20.7391", "7.6193", "1.8377", "22.1973", "5.5137", "pl/ant", "8448", "0.0577", "Chatham",
		"207391", "76193", "18377", "225768", "94570", "22.5768", "24.035", "9.457", "7.3514", "4391", "47123", "933", "34157",
	}
}

// TestEveryKeyOfTheSchedulersFileIsPlantedOrMayBeQuoted has a new key fail until
// somebody has decided which of the two it is.
func TestEveryKeyOfTheSchedulersFileIsPlantedOrMayBeQuoted(t *testing.T) {
	file, _ := planted(t)
	for _, k := range fleet.Keys() {
		name := k.Path[strings.LastIndexAny(k.Path, ".]")+1:]
		if !strings.Contains(file, `"`+name+`"`) && !slices.Contains(quotable, name) {
			t.Errorf("%s is neither planted nor one that a decision may quote", k.Path)
		}
	}
}

// quotable are keys that the planted file leaves out: limits and thresholds, and
// values that are no word of the operator's own.
var quotable = []string{"min_lifetime_minutes", "max_terminations_per_tick", "provider_preference", "cloud_provider", "batch", "slots", "levels"}

// The scheduler's file is never sent over HTTP; only the limit or threshold that
// a decision quotes is.
func TestNoAnswerHasWhatStandsInTheSchedulersFile(t *testing.T) {
	file, secrets := planted(t)
	w, kinds := liveThrough(t, file)
	b := newJobBench(t, func(c *httpapi.JobsConfig) { c.Scaling = w.Store })
	for _, kind := range []string{"launch manual", "launch seed.queue_depth_threshold", "hold fault", "hold cool_off", "hold spot_max_price", "hold zone",
		"drain scale_down.idle_minutes", "terminate drained", "alert alert.observation", "alert alert.provider", "revert_mode max_daily_spend"} {
		if kinds[kind] == 0 {
			t.Errorf("nothing was decided of the kind %q: %v", kind, kinds)
		}
	}
	row := jobs.WorkerRow{ID: "w-1", Provider: "aws", Region: "planted-region-1a", InstanceID: "i-1", InstanceType: "planted.type1",
		Market: jobs.OnDemand, Queues: []string{"media"}, CostPerHour: 207_391}
	if err := b.store.Register(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	targets := []string{
		"/v1/scaling/decisions?limit=200", "/v1/scaling/spend?days=30&limit=200", "/v1/queues", "/v1/workers?all=true", "/v1/jobs", "/v1/openapi.json",
		"/healthz", "/readyz", "/metrics", "/v1/scaling/decisions?kind=hold", "/v1/scaling/config", "/v1/scaling",
	}
	for page := answer[decisionPage](t, b.call("GET", targets[0], ""), 200); page.Next != ""; {
		target := targets[0] + "&cursor=" + url.QueryEscape(page.Next)
		targets = append(targets, target)
		page = answer[decisionPage](t, b.call("GET", target, ""), 200)
	}
	for _, target := range targets {
		text := body(t, b.call("GET", target, ""))
		for _, secret := range secrets {
			if i := found(text, secret); i >= 0 {
				t.Errorf("%s has %q: %s", target, secret, text[max(0, i-200):min(len(text), i+100)])
			}
		}
	}
}

// found is where a secret stands, -1 nowhere. A number may be a part of an id that
// is drawn, and counts only by itself.
func found(text, secret string) int {
	pattern := regexp.QuoteMeta(secret)
	if strings.Trim(secret, "0123456789.") == "" {
		pattern = `(^|[^0-9A-Za-z.])` + pattern + `([^0-9A-Za-z]|$)`
	}
	if at := regexp.MustCompile(pattern).FindStringIndex(text); at != nil {
		return at[0]
	}
	return -1
}

// liveThrough has a scheduler with the file see all that its words could come
// up in, and counts its decisions by kind and rule.
func liveThrough(t *testing.T, file string) (*fleettest.World, map[string]int) {
	t.Helper()
	cfg, err := fleet.Parse([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	w := fleettest.NewWorld(time.Now().UTC().Truncate(24 * time.Hour).Add(time.Hour))
	aws := w.AddCloud("aws", offer("aws", "planted.type1", "planted-region-1a", fleet.OnDemand, 207_391), offer("aws", "planted.type2", "planted-region-1a", fleet.OnDemand, 207_391))
	google := w.AddCloud("google", offer("google", "planted-standard-4", "planted-zone1-b", fleet.OnDemand, 221_973))
	s, err := fleet.New(fleet.Parts{
		Demand: w.Store, Rows: w.Store, Drains: w.Store, Ledger: w.Store, Providers: w.Providers(), Elector: w.Store,
		Notifier: deaf{}, Config: func() fleet.Config { return cfg }, Clock: w.Clock.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	run := func(ticks, jobs int, work time.Duration) {
		for range ticks {
			for range jobs {
				w.Store.Enqueue(fleettest.Job{Queue: "media", Priority: 1, Work: work})
			}
			if _, err := s.Tick(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.Advance(time.Minute)
		}
	}
	failing := func(method string, outcome fleet.Outcome) {
		for _, c := range []*fleettest.Cloud{aws, google} {
			c.SetFaults(func(x fleettest.Call) fleettest.Fault {
				if x.Method != method {
					return fleettest.Fault{}
				}
				return fleettest.Fault{Err: &fleet.ProviderError{Outcome: outcome, Err: errors.New("Get https://ec2.planted-region-1.example/: planted.type1 is unknown")}}
			})
		}
	}
	if err := w.Store.Ask(t.Context(), fleet.Request{ID: "r1", At: w.Clock.Now(), Do: fleet.KindLaunch, Queue: "media", Count: 1}); err != nil {
		t.Fatal(err)
	}
	run(8, 5, time.Second)
	run(30, 0, 0) // idle, drained, ended
	for _, outcome := range []fleet.Outcome{fleet.NoCapacity, fleet.Permanent} {
		failing("Launch", outcome)
		run(4, 20, time.Second)
		failing("", "")
		run(70, 0, 0)
	}
	failing("Inventory", fleet.Unknown)
	run(4, 20, time.Second)
	failing("", "")
	run(40, 0, 0)
	places := []fleet.Place{{Provider: "aws", Type: "planted.type1", Zone: "planted-region-1a"}, {Provider: "aws", Type: "planted.type2", Zone: "planted-region-1a"},
		{Provider: "google", Type: "planted-standard-4", Zone: "planted-zone1-b"}}
	for _, only := range [][2]fleet.Offer{
		{offer("aws", "planted.type1", "planted-region-1a", fleet.Spot, 300_000), offer("google", "planted-standard-4", "elsewhere1-b", fleet.Spot, 55_137)},
		{offer("aws", "planted.type1", "elsewhere-1a", fleet.OnDemand, 207_391), offer("google", "planted-standard-4", "elsewhere1-b", fleet.OnDemand, 221_973)},
	} {
		for i, c := range []*fleettest.Cloud{aws, google} {
			for _, market := range []fleet.Market{fleet.OnDemand, fleet.Spot} {
				for _, place := range places {
					place.Market = market
					c.Withdraw(place)
				}
			}
			c.SetOffer(only[i])
		}
		if err := w.Store.Ask(t.Context(), fleet.Request{ID: "r-" + string(only[0].Market), At: w.Clock.Now(), Do: fleet.KindLaunch, Queue: "media", Count: 1, Spot: only[0].Market == fleet.Spot}); err != nil {
			t.Fatal(err)
		}
		run(2, 20, time.Second)
		run(12, 0, 0)
	}
	cfg.Limits.Daily = 1
	aws.Put("fleet-in-memory", 1, offer("aws", "planted.type1", "planted-region-1a", fleet.OnDemand, 207_391).Place)
	run(5, 0, 0)
	kinds := map[string]int{}
	for _, d := range w.Store.AllDecisions() {
		kinds[string(d.Kind)+" "+d.Rule]++
	}
	return w, kinds
}

// deaf takes every notice.
type deaf struct{}

func (deaf) Notify(context.Context, fleet.Notice) error { return nil }

// offer is a machine of a cloud.
func offer(provider, kind, zone string, market fleet.Market, price fleet.Money) fleet.Offer {
	return fleet.Offer{Place: fleet.Place{Provider: provider, Type: kind, Zone: zone, Market: market}, Price: price, Ceiling: price, Slots: 4,
		Source: "live"}
}
