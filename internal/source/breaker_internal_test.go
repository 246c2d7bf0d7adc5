package source

import (
	"strings"
	"testing"
	"time"
)

// play runs a script against a breaker and tells what happened, one word each:
// g is a good visit and b a bad one, from ask to end; a number is seconds that
// pass; x tells the state: shut, open:SECONDS or half.
func play(t *testing.T, b *breaker, now *time.Time, script string) string {
	t.Helper()
	var told []string
	for _, step := range strings.Fields(script) {
		if d, err := time.ParseDuration(step); err == nil {
			*now = now.Add(d)
			continue
		}
		if step == "x" {
			told = append(told, state(b, *now))
			continue
		}
		p, wait := b.ask(*now)
		if wait > 0 {
			told = append(told, "refused:"+wait.String())
			continue
		}
		switch step {
		case "g":
			b.success(p, *now)
		case "b":
			b.failure(p, *now, 0)
		case "left":
			b.abandon(p)
		case "limited":
			b.leaveAlone(p, *now, 20*time.Second)
		case "busy":
			b.failure(p, *now, 20*time.Second)
		case "endless":
			b.failure(p, *now, time.Hour)
		case "stalls":
			b.answered(p)
			b.failure(p, *now, 0)
		default:
			t.Fatalf("no step is called %q", step)
		}
	}
	return strings.Join(told, " ")
}

func state(b *breaker, now time.Time) string {
	switch {
	case b.until.IsZero():
		return "shut"
	case now.Before(b.until):
		return "open:" + b.until.Sub(now).String()
	}
	return "half"
}

func TestBreaker(t *testing.T) {
	repeat := func(script string, n int) string { return strings.TrimSpace(strings.Repeat(script+" ", n)) }
	cases := []struct{ name, script, want string }{
		{"a new one is shut", "x", "shut"},
		{"four failures in a row are not enough", "b b b b x", "shut"},
		{"five open it for five seconds", "b b b b b x", "open:5s"},
		{"they may be far apart", "b 10m b 10m b 10m b 10m b x", "open:5s"},
		{"a success between them starts anew", "b b b b g b b b b x", "shut"},
		{"one that left between them does not", "b b b b left b x", "open:5s"},
		{"nobody passes while it is open", "b b b b b 2s g", "refused:3s"},
		{"then one may try", "b b b b b 5s x", "half"},
		{"whose success shuts it", "b b b b b 5s g x", "shut"},
		{"and forgets the failures", "b b b b b 5s g b b b b x", "shut"},
		{"whose failure opens it for twice as long", "b b b b b 5s b x", "open:10s"},
		{"up to a minute", "b b b b b 5s b 10s b 20s b 40s b x 60s b x", "open:1m0s open:1m0s"},
		{"until a success", "b b b b b 5s b 10s g b b b b b x", "open:5s"},
		{"whose leaving lets the next one try", "b b b b b 5s left x g x", "half shut"},
		{"whose body stalls lets others try, but is not forgotten", "b b b b b 5s stalls x b b b b x", "shut open:10s"},
		{"half of twenty open it", repeat("g b", 9) + " x g b x", "shut open:5s"},
		{"but not with a success", repeat("b g", 10) + " x", "shut"},
		{"less than half do not", repeat("g b", 9) + " g g x", "shut"},
		{"half of twenty that took too long do not", repeat("g b 4s", 10) + " x", "shut"},
		{"only the last twenty count", repeat("g", 40) + " " + repeat("b b b g", 3) + " x b x", "shut open:5s"},
		{"the origin's own word opens it at once", "limited x", "open:20s"},
		{"and is no failure", "limited 20s g b b b b b x", "open:5s"},
		{"the one that tries hears it as well", "b b b b b 5s limited x", "open:20s"},
		{"a failure's own word can make it longer", "b b b b busy x", "open:20s"},
		{"but does not open it alone", "busy x", "shut"},
		{"and is bounded", "b b b b endless x", "open:1m0s"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			now := noon
			if got := play(t, &breaker{}, &now, c.script); got != c.want {
				t.Errorf("%s: got %q, want %q", c.script, got, c.want)
			}
		})
	}
}

func TestOnlyOneProbesAtATime(t *testing.T) {
	b, now := &breaker{}, noon
	play(t, b, &now, "b b b b b 5s")
	first, wait := b.ask(now)
	if wait != 0 {
		t.Fatalf("the first is refused for %s", wait)
	}
	if _, wait := b.ask(now); wait != probeWait {
		t.Errorf("the second waits %s, want %s", wait, probeWait)
	}
	b.success(first, now)
	if _, wait := b.ask(now); wait != 0 {
		t.Errorf("after its success the next is refused for %s", wait)
	}
}

// What was under way when the breaker opened ends later, and must neither
// prolong the time nor shut the breaker before somebody tried.
func TestVisitsFromBeforeAnOpeningProveNothing(t *testing.T) {
	b, now := &breaker{}, noon
	old, _ := b.ask(now)
	older, _ := b.ask(now)
	play(t, b, &now, "b b b b b")
	b.success(old, now)
	b.failure(older, now, time.Hour)
	if got := play(t, b, &now, "x 5s x"); got != "open:5s half" {
		t.Errorf("the breaker is %s", got)
	}
	probe, _ := b.ask(now)
	b.abandon(old)
	if _, wait := b.ask(now); wait == 0 {
		t.Error("two probes are under way")
	}
	b.success(probe, now)
	for range 10 {
		b.failure(older, now, 0)
	}
	if got := state(b, now); got != "shut" {
		t.Errorf("the breaker is %s", got)
	}
}
