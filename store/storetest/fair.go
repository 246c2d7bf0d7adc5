package storetest

import (
	"fmt"
	"math"
	"slices"
	"time"
)

func fairRules() []rule {
	return []rule{
		{"a tenant with very many jobs delays another's first by two claims at most", fairBound},
		{"tenants take turns in one priority", fairTurns},
		{"shares are equal in estimated seconds", fairShares},
		{"a higher priority goes before any tenant's turn", fairIsWithinPriority},
		{"delayed jobs that become due together are one tenant's turn after another", fairDelayed},
		{"a queue that ran empty begins anew", fairBeginsAnew},
		{"a job given back at once goes on before its tenant's later ones", fairGivenBack},
		{"a job given back after the queue began anew waits for no forgotten turns", fairForgets},
	}
}

// turns claims n jobs one by one and lists their tenants.
func (f *fixture) turns(n int) []string {
	f.Helper()
	var names []string
	for range n {
		list := f.claim(1)
		if len(list) != 1 {
			f.Fatalf("nothing is ready after %v", names)
		}
		names = append(names, list[0].Tenant)
	}
	return names
}

func fairBound(f *fixture) {
	f.enqueue(many(flood, tenant("many"))...)
	f.turns(5) // the queue is at work
	f.enqueue(many(3, tenant("few"))...)
	if at := slices.Index(f.turns(8), "few"); at < 0 || at > 2 {
		f.Errorf("the other tenant's first job came after %d claims", at)
	}
}

func fairTurns(f *fixture) {
	for _, name := range []string{"a", "b", "c"} {
		f.enqueue(many(30, tenant(name))...)
	}
	got := f.turns(60)
	for n := range got {
		counts := map[string]int{}
		for _, name := range got[:n] {
			counts[name]++
		}
		if d := max(counts["a"], counts["b"], counts["c"]) - min(counts["a"], counts["b"], counts["c"]); d > 2 {
			f.Fatalf("after %d claims the shares are %v", n, counts)
		}
	}
}

func fairShares(f *fixture) {
	f.enqueue(many(100, tenant("short"), taking(1))...)
	f.enqueue(many(100, tenant("long"), taking(10))...)
	seconds := map[string]float64{}
	for _, name := range f.turns(66) {
		seconds[name] += map[string]float64{"short": 1, "long": 10}[name]
	}
	if math.Abs(seconds["short"]-seconds["long"]) > 12 {
		f.Errorf("the shares in seconds are %v", seconds)
	}
}

func fairIsWithinPriority(f *fixture) {
	f.enqueue(many(5, tenant("a"), priority(4))...)
	f.enqueue(many(5, tenant("b"), priority(5))...)
	f.equal("the turns", f.turns(6), []string{"a", "a", "a", "a", "a", "b"})
}

func fairDelayed(f *fixture) {
	f.enqueue(many(60, tenant("many"), after(time.Minute))...)
	f.Shift(2 * time.Minute)
	if n := len(f.promote()); n != 60 {
		f.Fatalf("%d of 60 became ready", n)
	}
	f.one(tenant("few"))
	if at := slices.Index(f.turns(10), "few"); at < 0 || at > 2 {
		f.Errorf("the other tenant's first job came after %d claims", at)
	}
}

func fairBeginsAnew(f *fixture) {
	f.enqueue(many(50, tenant("a"))...)
	f.turns(50)
	f.enqueue(with(tenant("a")), with(tenant("b")), with(tenant("a")), with(tenant("b")))
	got := f.turns(4)
	if got[0] == got[1] || got[2] == got[3] {
		f.Errorf("the turns are %v", got)
	}
}

func fairGivenBack(f *fixture) {
	list := f.enqueue(many(5, tenant("a"))...)
	f.finish(f.claim(1)[0], released())
	f.equal("what is next", ids(f.claim(2)), list[:2])
}

func fairForgets(f *fixture) {
	f.enqueue(many(60, tenant("a"))...)
	all := f.claim(60)
	for i := range 30 {
		f.enqueue(with(tenant(fmt.Sprint("other-", i))))
	}
	f.finish(all[59], released())
	if at := slices.Index(f.turns(31), "a"); at > 2 {
		f.Errorf("a released job waited for %d others, whose tenants came when the queue was empty", at)
	}
}
