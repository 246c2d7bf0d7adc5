package fleet_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/fleet"
)

// lines are the faults of a file, one each.
func lines(file string) []string {
	_, err := fleet.Parse([]byte(file))
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}

func TestParseTellsEveryFaultByItsPath(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		want []string
	}{
		"an empty object is all defaults":     {`{}`, nil},
		"nothing is no object":                {``, []string{`the file: line 1 is no valid JSON: it ends too early`}},
		"a list is no object":                 {`[]`, []string{`the file: must be an object, not a list`}},
		"a brace is missing":                  {"{\n\"mode\": \"hybrid\"", []string{`the file: line 2 is no valid JSON: it ends too early`}},
		"a comma is missing":                  {"{\n\"mode\": \"vps_only\"\n\"policy\": \"seed\"}", []string{`the file: line 3 is no valid JSON: invalid character '"' after object key:value pair`}},
		"something follows":                   {`{} {}`, []string{`the file: line 1 is no valid JSON: something follows the closing brace`}},
		"a key stands twice":                  {`{"cost_limits": {"max_daily_spend_cents": 100, "max_daily_spend_cents": 100000}}`, []string{`cost_limits.max_daily_spend_cents: stands twice`}},
		"a misspelt key names the near one":   {`{"cost_limits": {"max_daly_spend_cents": 100}}`, []string{`cost_limits.max_daly_spend_cents: is no key; did you mean "max_daily_spend_cents"?`}},
		"a key like no other names them all":  {`{"alerts": {"x": 1}}`, []string{`alerts.x: is no key; known are quiet_minutes, channels`}},
		"a key in the wrong place":            {`{"queues": {"ocr": {"mode": "hybrid"}}}`, []string{`queues.ocr.mode: is no key; known are baseline_workers, max_workers, cloud_enabled, cloud_provider, spot_preferred, batch, credit_cents_per_job`}},
		"a key of another provider":           {`{"cloud_providers": {"google": {"region": "europe-west1"}}}`, []string{`cloud_providers.google.region: is no key; known are enabled, max_instances, slots, prices, surcharge_cents_per_hour, zone, machine_type, instance_types, image, preemptible`}},
		"a queue that there is not":           {`{"queues": {"image": {}}}`, []string{`queues.image: is no queue; did you mean "images"?`}},
		"a queue of one's own":                {`{"queues": {"thumbnails": {}}}`, nil},
		"a queue that none can be called":     {`{"queues": {"My Jobs": {}}}`, []string{`queues.My Jobs: is no name of a queue: 1 to 40 lower-case letters, digits, - and _`}},
		"a provider that there is not":        {`{"cloud_providers": {"azure": {}}}`, []string{`cloud_providers.azure: is no provider; known are aws, google, ionos, process, hook`}},
		"a mode that there is not":            {`{"mode": "hybird"}`, []string{`mode: "hybird" is not known; did you mean "hybrid"?`}},
		"an empty mode":                       {`{"mode": ""}`, []string{`mode: "" is not known; known are vps_only, hybrid, cloud_first`}},
		"a number for a string":               {`{"mode": 1}`, []string{`mode: must be a string, not a number`}},
		"a string for a number":               {`{"evaluation_interval_seconds": "60"}`, []string{`evaluation_interval_seconds: must be a number, not a string`}},
		"a fraction for a whole number":       {`{"evaluation_interval_seconds": 0.5}`, []string{`evaluation_interval_seconds: must be a whole number of at most 100000000, not 0.5`}},
		"a number out of its range":           {`{"evaluation_interval_seconds": 0}`, []string{`evaluation_interval_seconds: must be between 1 and 3600, not 0`}},
		"a number past all ranges":            {`{"evaluation_interval_seconds": 99999999999999999999}`, []string{`evaluation_interval_seconds: must be a whole number of at most 100000000, not 99999999999999999999`}},
		"a time that would overflow":          {`{"scaling_rules": {"scale_down": {"idle_minutes": 1000000000000}}}`, []string{`scaling_rules.scale_down.idle_minutes: must be a whole number of at most 100000000, not 1000000000000`}},
		"null where something must be":        {`{"queues": {"ocr": {"max_workers": null}}}`, []string{`queues.ocr.max_workers: must be a number, not null`}},
		"an object that is null":              {`{"queues": null, "cost_limits": null}`, []string{`queues: must be an object, not null`, `cost_limits: must be an object, not null`}},
		"truth as a string":                   {`{"queues": {"ocr": {"cloud_enabled": "true"}}}`, []string{`queues.ocr.cloud_enabled: must be true or false, not a string`}},
		"less workers than the baseline":      {`{"queues": {"ocr": {"baseline_workers": 2, "max_workers": 1}}}`, []string{`queues.ocr.max_workers: must be at least baseline_workers (2), which it counts, not 1`}},
		"a provider that the file lacks":      {`{"queues": {"ocr": {"cloud_provider": "aws"}}}`, []string{`queues.ocr.cloud_provider: "aws" is not among cloud_providers`}},
		"a provider misspelt":                 {`{"queues": {"ocr": {"cloud_provider": "asw"}}}`, []string{`queues.ocr.cloud_provider: "asw" is not known; did you mean "aws"?`}},
		"a batch service that there is not":   {`{"queues": {"ocr": {"batch": "ionos"}}, "cloud_providers": {"ionos": {}}}`, []string{`queues.ocr.batch: "ionos" is not known; known are aws, google`}},
		"a preference that stands twice":      {`{"provider_preference": ["aws", "aws", 3]}`, []string{`provider_preference[2]: must be a string, not a number`, `provider_preference[1]: "aws" stands twice`}},
		"a time zone of the machine":          {`{"timezone": "Local"}`, []string{`timezone: must be the name of a time zone, such as UTC or Europe/Paris, not "Local"`}},
		"a time zone that there is not":       {`{"timezone": "Europe/Pariss"}`, []string{`timezone: "Europe/Pariss" is no time zone that is known here`}},
		"limits that are not written":         {`{"mode": "hybrid"}`, []string{`cost_limits.max_hourly_spend_cents: must be there when mode is hybrid`, `cost_limits.max_daily_spend_cents: must be there when mode is hybrid`}},
		"a limit of nothing":                  {`{"cost_limits": {"max_daily_spend_cents": 0}}`, []string{`cost_limits.max_daily_spend_cents: must be between 1 and 1000000000 cents, not 0 cents`}},
		"a limit below nothing":               {`{"cost_limits": {"max_daily_spend_cents": -1}}`, []string{`cost_limits.max_daily_spend_cents: "-1" is not an amount of money: digits with at most one point`}},
		"a limit in an exponent":              {`{"cost_limits": {"max_daily_spend_cents": 5e3}}`, []string{`cost_limits.max_daily_spend_cents: "5e3" is not an amount of money: digits with at most one point`}},
		"an enabled cloud without its things": {`{"cloud_providers": {"aws": {"enabled": true, "region": "eu-west-3", "ami_id": "ami-1"}}}`, []string{`cloud_providers.aws.instance_type: must be there when the provider is enabled`}},
		"an enabled hook without its command": {`{"cloud_providers": {"hook": {"enabled": true}}}`, []string{`cloud_providers.hook.command: must be there when the provider is enabled`}},
		"a bid that EC2 refuses":              {`{"cloud_providers": {"aws": {"spot_max_price": "0.001"}}}`, []string{`cloud_providers.aws.spot_max_price: must be above "0.001", or "0" for none`}},
		"a bid that is no number":             {`{"cloud_providers": {"aws": {"spot_max_price": "5 ct"}}}`, []string{`cloud_providers.aws.spot_max_price: "5 ct" is not an amount of money: digits with at most one point`}},
		"cores without memory":                {`{"cloud_providers": {"ionos": {"cores": 4}}}`, []string{`cloud_providers.ionos: cores and ram_mb must be given together`}},
		"memory that IONOS does not sell":     {`{"cloud_providers": {"ionos": {"cores": 4, "ram_mb": 1000}}}`, []string{`cloud_providers.ionos.ram_mb: must be a multiple of 256, not 1000`}},
		"a price below nothing":               {`{"cloud_providers": {"aws": {"prices": {"c6i.xlarge": {"spot_cents_per_hour": "1"}}}}}`, []string{`cloud_providers.aws.prices.c6i.xlarge.spot_cents_per_hour: must be a number, not a string`}},
		"a channel without a kind":            {`{"alerts": {"channels": [{"url": "https://example.com"}]}}`, []string{`alerts.channels[0].kind: must be there`}},
		"a webhook without an address":        {`{"alerts": {"channels": [{"kind": "webhook"}]}}`, []string{`alerts.channels[0].url: must be an address that begins with https:// or http://`}},
		"a log with an address":               {`{"alerts": {"channels": [{"kind": "log", "url": "https://example.com"}]}}`, []string{`alerts.channels[0]: a log has neither url nor key_file`}},
		"a level that there is not":           {`{"alerts": {"channels": [{"kind": "log", "levels": ["info", "warn"]}]}}`, []string{`alerts.channels[0].levels[1]: "warn" is not known; known are info, warning, critical`}},
		"channels that are no list":           {`{"alerts": {"channels": {}}}`, []string{`alerts.channels: must be a list, not an object`}},
		"several faults are told at once": {`{"mode": "off", "polcy": "seed", "queues": {"ocr": {"max_workers": -1}}, "alerts": {"quiet_minutes": 0}}`, []string{
			`polcy: is no key; did you mean "policy"?`,
			`mode: "off" is not known; known are vps_only, hybrid, cloud_first`,
			`alerts.quiet_minutes: must be between 1 and 44640, not 0`,
			`queues.ocr.max_workers: must be between 0 and 10000, not -1`,
			`queues.ocr.max_workers: must be at least baseline_workers (0), which it counts, not -1`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got := lines(c.file)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAFaultQuotesNoSecret(t *testing.T) {
	const secret = "hunter2"
	for name, channel := range map[string]string{
		"an address with a password":     `{"kind": "webhook", "url": "ftp://me:hunter2@example.com"}`,
		"an address that cannot be read": `{"kind": "webhook", "url": "https://me:hunter2@exam ple.com/%zz"}`,
		"a key file in the wrong place":  `{"kind": "log", "key_file": "/etc/hunter2"}`,
		"a template":                     `{"kind": "webhook", "url": "", "template": "{{hunter2"}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := fleet.Parse([]byte(`{"alerts": {"channels": [` + channel + `]}}`))
			if err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("the fault is %v", err)
			}
		})
	}
}

func TestComplaint22AMisplacedKeyIsAFaultNotIgnored(t *testing.T) {
	file := bytes.Replace(sample(t), []byte(`"mode": "vps_only",`), []byte(`"mode": "vps_only", "max_daily_spend_cents": 100,`), 1)
	if _, err := fleet.Parse(file); err == nil || !strings.Contains(err.Error(), "max_daily_spend_cents: is no key") {
		t.Errorf("the fault is %v", err)
	}
}

func TestMinLifetimeFollowsThePolicyUnlessItIsGiven(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		want time.Duration
	}{
		"seed has none":                  {`{"policy": "seed"}`, 0},
		"steps has none":                 {`{"policy": "steps"}`, 0},
		"backlog has a quarter":          {`{"policy": "backlog"}`, 15 * time.Minute},
		"backlog has what is given":      {`{"policy": "backlog", "min_lifetime_minutes": 3}`, 3 * time.Minute},
		"backlog has none when told so":  {`{"policy": "backlog", "min_lifetime_minutes": 0}`, 0},
		"seed has what is given as well": {`{"min_lifetime_minutes": 20}`, 20 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := fleet.Parse([]byte(c.file))
			if err != nil || cfg.MinLifetime != c.want {
				t.Errorf("got %s, %v", cfg.MinLifetime, err)
			}
		})
	}
}

func TestTheHybridFileLoadsWithAPriceForEachEnabledType(t *testing.T) {
	file, err := os.ReadFile("../deploy/scheduler.hybrid.json")
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := fleet.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Mode != fleet.Hybrid || !cfg.Providers["aws"].Enabled || !cfg.Providers["google"].Enabled {
		t.Errorf("it is no hybrid file: %+v", cfg)
	}
	for name, p := range cfg.Providers {
		for _, kind := range p.Types {
			if price := p.Prices[kind]; p.Enabled && (price.OnDemand == 0 || price.Spot == 0) {
				t.Errorf("%s %s has no price", name, kind)
			}
		}
	}
}

// FuzzParse holds that no file breaks the parser, and that what it takes is
// valid, free unless the file says otherwise, and taken again the same.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"sample", "hybrid"} {
		file, err := os.ReadFile("../deploy/scheduler." + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file)
	}
	f.Add([]byte(`{"alerts": {"channels": [{"kind": "log", "levels": ["info"]}]}}`))
	f.Add([]byte(`{"cloud_providers": {"hook": {"command": ["a"]}, "process": {"slots": 2}}}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		cfg, err := fleet.Parse(file)
		if err != nil {
			if diff := cmp.Diff(fleet.Config{}, cfg); diff != "" {
				t.Errorf("a bad file has settings: %s", diff)
			}
			return
		}
		if err := cfg.Validate(); err != nil {
			t.Errorf("it was taken, and is not valid: %v", err)
		}
		if cfg.Mode != fleet.VPSOnly && !bytes.Contains(file, []byte("mode")) {
			t.Errorf("mode %s without a word of it", cfg.Mode)
		}
		if cfg.Limits.Daily <= 0 || cfg.Limits.Hourly <= 0 || len(cfg.Queues) < 5 {
			t.Errorf("limits %+v, %d queues", cfg.Limits, len(cfg.Queues))
		}
	})
}
