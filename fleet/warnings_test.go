package fleet_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/fleet"
)

func read(t *testing.T, name string) fleet.Config {
	t.Helper()
	file, err := os.ReadFile("../deploy/" + name)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := fleet.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func texts(ws []fleet.Remark) []string {
	var out []string
	for _, w := range ws {
		out = append(out, w.String())
	}
	return out
}

func TestWarningsOfTheSampleFile(t *testing.T) {
	want := []string{
		`cost_limits.alert_threshold_cents: is 3000, and 80 % of the daily limit is 4000: two warnings are sent on a dear day`,
		`cloud_providers.ionos.datacenter: is "de/fra", a location: machines go to the one data center that is found there; its id says which`,
		`cloud_providers.ionos.server_type: is "c6i.xlarge", which IONOS does not have (ENTERPRISE, VCPU, CUBE, GPU): cores and ram_mb say what a machine is`,
	}
	if diff := cmp.Diff(want, texts(fleet.Warnings(read(t, "scheduler.sample.json"), nil))); diff != "" {
		t.Error(diff)
	}
}

func TestTheHybridFileHasOnlyTheWarningOfItsDisabledProvider(t *testing.T) {
	want := []string{`cloud_providers.ionos.datacenter: is "de/fra", a location: machines go to the one data center that is found there; its id says which`}
	if diff := cmp.Diff(want, texts(fleet.Warnings(read(t, "scheduler.hybrid.json"), nil))); diff != "" {
		t.Error(diff)
	}
}

func TestWarningsOfWhatCanHardlyBeMeant(t *testing.T) {
	live := func(price fleet.Money) []fleet.Offer {
		return []fleet.Offer{{Place: fleet.Place{Provider: "aws", Type: "c6i.xlarge", Zone: "eu-west-3a", Market: fleet.Spot}, Price: price, Source: "live"}}
	}
	aws := func(change func(*fleet.ProviderConfig)) func(*fleet.Config) {
		return func(c *fleet.Config) {
			p := c.Providers["aws"]
			change(&p)
			c.Providers["aws"] = p
		}
	}
	ocr := func(change func(*fleet.Queue)) func(*fleet.Config) {
		return func(c *fleet.Config) {
			q := c.Queues["ocr"]
			change(&q)
			c.Queues["ocr"] = q
		}
	}
	nothing := func(*fleet.Config) {}
	for name, c := range map[string]struct {
		change func(*fleet.Config)
		live   []fleet.Offer
		want   []string
	}{
		"a bid at the live floor":    {nothing, live(fleet.Cents(12)), nil},
		"a bid under the live floor": {nothing, live(fleet.Cents(12) + 1), []string{`cloud_providers.aws.spot_max_price: is 12 cents an hour, and c6i.xlarge costs 12.0001 cents or more on spot (price of now): none will be launched`}},
		"a bid under the file's price": {aws(func(p *fleet.ProviderConfig) { p.SpotMaxPrice = fleet.Cents(5) }), nil, []string{
			`cloud_providers.aws.spot_max_price: is 5 cents an hour, and c6i.xlarge costs 7.48 cents or more on spot (price of the file): none will be launched`,
			`cloud_providers.aws.spot_max_price: is 5 cents an hour, and c5.xlarge costs 7.48 cents or more on spot (price of the file): none will be launched`}},
		"no bid at all":          {aws(func(p *fleet.ProviderConfig) { p.SpotMaxPrice = 0 }), live(fleet.Cents(100)), nil},
		"an image that is none":  {aws(func(p *fleet.ProviderConfig) { p.Image = "ami-..." }), nil, []string{`cloud_providers.aws.ami_id: is an example: nothing can boot from it`}},
		"a type without a price": {aws(func(p *fleet.ProviderConfig) { p.Prices = map[string]fleet.Price{"c6i.xlarge": p.Prices["c6i.xlarge"]} }), nil, []string{`cloud_providers.aws.prices.c5.xlarge: has no price on demand: unless the provider tells one, it is not launched so`, `cloud_providers.aws.prices.c5.xlarge: has no price on spot: unless the provider tells one, it is not launched so`}},
		"a price without a type": {aws(func(p *fleet.ProviderConfig) { p.Types = p.Types[:1] }), nil, []string{`cloud_providers.aws.prices.c5.xlarge: is no type that is launched there`}},
		"a provider without a room": {aws(func(p *fleet.ProviderConfig) { p.MaxInstances = 0 }), nil, []string{
			`cost_limits.max_hourly_spend_cents: is 200; all 5 machines together cost 119.85 an hour, so that it never binds`,
			`cloud_providers.aws.max_instances: is 0: nothing will be launched there`}},
		"a queue that has no room":           {ocr(func(q *fleet.Queue) { q.BaselineWorkers = 3 }), nil, []string{`queues.ocr.max_workers: is 3 and counts baseline_workers (3): no machine will be launched for it`}},
		"a queue at a disabled provider":     {ocr(func(q *fleet.Queue) { q.CloudProvider = "ionos" }), nil, []string{`queues.ocr.cloud_provider: is ionos, which is not enabled: no machine will be launched for it`}},
		"a preference that is not enabled":   {func(c *fleet.Config) { c.ProviderPreference = []string{"ionos"} }, nil, []string{`provider_preference: names ionos, which is not enabled`}},
		"queues in a mode without machines":  {func(c *fleet.Config) { c.Mode = fleet.VPSOnly }, nil, []string{`mode: is vps_only, so that cloud_enabled of bulk, documents, images, media, ocr launches nothing`}},
		"a mode without queues":              {func(c *fleet.Config) { c.Queues = map[string]fleet.Queue{"ocr": {MaxWorkers: 3}} }, nil, []string{`mode: is hybrid, but no queue is cloud_enabled: nothing will be launched but by hand`}},
		"a batch service":                    {func(c *fleet.Config) { q := c.Queues["media"]; q.Batch = "aws"; c.Queues["media"] = q }, nil, []string{`queues.media.batch: is aws: no machine will be launched for it, and nothing hands its jobs to a batch service yet`}},
		"a queue of one's own":               {func(c *fleet.Config) { c.Queues["thumbnails"] = fleet.Queue{} }, nil, []string{`queues.thumbnails: is none of the usual queues; nothing waits there unless jobs are asked for by that name`}},
		"nobody who is told":                 {func(c *fleet.Config) { c.Alerts.Channels = nil }, nil, []string{`alerts.channels: is empty: alerts go to the log only`}},
		"rules that contradict each other":   {func(c *fleet.Config) { c.Policy, c.ScaleDown.QueueBelow = fleet.PolicySeed, 11 }, nil, []string{`scaling_rules.scale_down.queue_depth_below: is 11, above queue_depth_threshold (10): at depths between them machines would be wanted and not wanted`}},
		"an alert that comes too late":       {func(c *fleet.Config) { c.Limits.Alert = c.Limits.Daily }, nil, []string{`cost_limits.alert_threshold_cents: is 2000, not under the daily limit of 2000: the day ends before it is reached`}},
		"alerts that conflict":               {func(c *fleet.Config) { c.Limits.Alert = fleet.Cents(1599) }, nil, []string{`cost_limits.alert_threshold_cents: is 1599, and 80 % of the daily limit is 1600: two warnings are sent on a dear day`}},
		"an hour that all machines fit into": {func(c *fleet.Config) { c.Limits.Hourly = fleet.Cents(226) }, nil, []string{`cost_limits.max_hourly_spend_cents: is 226; all 10 machines together cost 225.85 an hour, so that it never binds`}},
		"a day that cannot be reached": {func(c *fleet.Config) {
			c.Limits.Hourly, c.Limits.Daily, c.Limits.Alert = fleet.Cents(50), fleet.Cents(1201), 0
		}, nil, []string{`cost_limits.max_daily_spend_cents: is 1201; at most 1200 can be spent in a day, so that it never binds`}},
		"an hour above a day": {func(c *fleet.Config) { c.Limits.Daily, c.Limits.Alert = fleet.Cents(199), 0 }, nil, []string{`cost_limits.max_hourly_spend_cents: is above the daily limit, and never binds`}},
		"an hour that no machine fits into": {func(c *fleet.Config) {
			c.Limits.Hourly, c.Limits.Daily, c.Limits.Alert = fleet.Cents(6), fleet.Cents(100), 0
		}, nil, []string{`cost_limits.max_hourly_spend_cents: is 6, and the cheapest machine counts 6.56 an hour: nothing can be launched`}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := read(t, "scheduler.hybrid.json")
			delete(cfg.Providers, "ionos")
			if name == "a queue at a disabled provider" {
				cfg.Providers["ionos"] = fleet.ProviderConfig{}
			}
			c.change(&cfg)
			if diff := cmp.Diff(c.want, texts(fleet.Warnings(cfg, c.live))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
