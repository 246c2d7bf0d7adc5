package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Remark is something in the file that is allowed and can hardly be meant.
type Remark struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

func (r Remark) String() string { return r.Path + ": " + r.Text }

// Warnings looks for settings that contradict each other or the clouds. Live are
// the offers of providers that could be asked, as Provider.Offers gives them;
// without them the prices of the file count.
func Warnings(cfg Config, live []Offer) []Remark {
	w := &warnings{cfg: cfg, live: live}
	w.mode()
	w.queues()
	w.rules()
	w.limits()
	for _, name := range sortedKeys(cfg.Providers) {
		w.provider(name, cfg.Providers[name])
	}
	return w.list
}

type warnings struct {
	cfg  Config
	live []Offer
	list []Remark
}

func (w *warnings) add(path, format string, args ...any) {
	w.list = append(w.list, Remark{Path: path, Text: fmt.Sprintf(format, args...)})
}

// usable are the providers that machines may be launched at.
func (w *warnings) usable() []string {
	return slices.DeleteFunc(sortedKeys(w.cfg.Providers), func(name string) bool {
		p := w.cfg.Providers[name]
		return !p.Enabled || p.MaxInstances == 0
	})
}

// mode compares what is allowed with what is switched on.
func (w *warnings) mode() {
	cloud := slices.DeleteFunc(sortedKeys(w.cfg.Queues), func(name string) bool { return !w.cfg.Queues[name].CloudEnabled })
	switch {
	case w.cfg.Mode == VPSOnly && len(cloud) > 0:
		w.add("mode", "is %s, so that cloud_enabled of %s launches nothing", VPSOnly, strings.Join(cloud, ", "))
	case w.cfg.Mode == VPSOnly:
	case len(cloud) == 0:
		w.add("mode", "is %s, but no queue is cloud_enabled: nothing will be launched but by hand", w.cfg.Mode)
	case len(w.usable()) == 0:
		w.add("mode", "is %s, but no provider is enabled with max_instances above 0: nothing will be launched", w.cfg.Mode)
	}
	if w.cfg.Mode != VPSOnly && len(w.cfg.Alerts.Channels) == 0 {
		w.add("alerts.channels", "is empty: alerts go to the log only")
	}
	for _, name := range w.cfg.ProviderPreference {
		if !w.cfg.Providers[name].Enabled {
			w.add("provider_preference", "names %s, which is not enabled", name)
		}
	}
}

func (w *warnings) queues() {
	for _, name := range sortedKeys(w.cfg.Queues) {
		q, path := w.cfg.Queues[name], join("queues", name)
		if !slices.Contains(queueNames, name) {
			w.add(path, "is none of the usual queues; nothing waits there unless jobs are asked for by that name")
		}
		if q.CloudEnabled && q.MaxWorkers <= q.BaselineWorkers {
			w.add(join(path, "max_workers"), "is %d and counts baseline_workers (%d): no machine will be launched for it", q.MaxWorkers, q.BaselineWorkers)
		}
		if q.Batch != "" {
			w.add(join(path, "batch"), "is %s: no machine will be launched for it, and nothing hands its jobs to a batch service yet", q.Batch)
		}
		if q.CloudEnabled && q.CloudProvider != "" && !w.cfg.Providers[q.CloudProvider].Enabled {
			w.add(join(path, "cloud_provider"), "is %s, which is not enabled: no machine will be launched for it", q.CloudProvider)
		}
	}
}

func (w *warnings) rules() {
	up, down := w.cfg.ScaleUp, w.cfg.ScaleDown
	if w.cfg.Policy == PolicySeed && down.QueueBelow > up.QueueDepth {
		w.add("scaling_rules.scale_down.queue_depth_below", "is %d, above queue_depth_threshold (%d): at depths between them machines would be wanted and not wanted", down.QueueBelow, up.QueueDepth)
	}
}

// limits tells of limits that cannot bind, and of those that let nothing through.
func (w *warnings) limits() {
	l := w.cfg.Limits
	eighty := l.Daily * alertSpend / 100
	switch {
	case l.Alert == 0:
	case l.Alert >= l.Daily:
		w.add("cost_limits.alert_threshold_cents", "is %s, not under the daily limit of %s: the day ends before it is reached", l.Alert.Number(), l.Daily.Number())
	case l.Alert != eighty:
		w.add("cost_limits.alert_threshold_cents", "is %s, and 80 %% of the daily limit is %s: two warnings are sent on a dear day", l.Alert.Number(), eighty.Number())
	}
	if l.Hourly > l.Daily {
		w.add("cost_limits.max_hourly_spend_cents", "is above the daily limit, and never binds")
	}
	w.reach()
}

// reach compares the limits with all the machines that there can be.
func (w *warnings) reach() {
	var rates []Money
	for _, name := range w.usable() {
		p, dearest := w.cfg.Providers[name], Money(0)
		for _, kind := range p.Types {
			dearest = max(dearest, w.rate(name, kind))
		}
		if dearest == 0 && name != processProvider {
			return // a price is missing, which is told elsewhere
		}
		rates = append(rates, slices.Repeat([]Money{dearest}, p.MaxInstances)...)
	}
	slices.SortFunc(rates, func(a, b Money) int { return cmp.Compare(b, a) })
	rates = rates[:min(len(rates), w.room())]
	if len(rates) == 0 || rates[0] == 0 {
		return
	}
	var all Money
	for _, r := range rates {
		all += r
	}
	l := w.cfg.Limits
	if all <= l.Hourly {
		w.add("cost_limits.max_hourly_spend_cents", "is %s; all %d machines together cost %s an hour, so that it never binds", l.Hourly.Number(), len(rates), all.Number())
	}
	if day := min(all, l.Hourly) * 24; day < l.Daily {
		w.add("cost_limits.max_daily_spend_cents", "is %s; at most %s can be spent in a day, so that it never binds", l.Daily.Number(), day.Number())
	}
	if least := w.cheapest(); least > l.Hourly {
		w.add("cost_limits.max_hourly_spend_cents", "is %s, and the cheapest machine counts %s an hour: nothing can be launched", l.Hourly.Number(), least.Number())
	}
}

// room is how many machines the queues leave room for.
func (w *warnings) room() int {
	room := 0
	for _, q := range w.cfg.Queues {
		if q.CloudEnabled {
			room += max(0, q.MaxWorkers-q.BaselineWorkers)
		}
	}
	return room
}

// rate is the most that a type counts an hour.
func (w *warnings) rate(name, kind string) Money {
	p := w.cfg.Providers[name]
	most := max(p.Prices[kind].OnDemand, p.Prices[kind].Spot, p.SpotMaxPrice)
	if most == 0 || p.Prices[kind].OnDemand == 0 {
		for _, o := range w.live {
			if o.Provider == name && o.Type == kind {
				most = max(most, o.Price, o.Ceiling)
			}
		}
	}
	if most == 0 {
		return 0
	}
	return most + p.Surcharge
}

// cheapest is the least that any machine counts an hour; 0 not known.
func (w *warnings) cheapest() Money {
	least := Money(0)
	for _, name := range w.usable() {
		p := w.cfg.Providers[name]
		for _, kind := range p.Types {
			for _, price := range []Money{p.Prices[kind].OnDemand, p.Prices[kind].Spot} {
				if price > 0 && (least == 0 || price+p.Surcharge < least) {
					least = price + p.Surcharge
				}
			}
		}
	}
	return least
}
