package notify

import (
	"fmt"
	"testing"
	"time"
)

func TestAHostIsLeftAloneWhileItIsSilent(t *testing.T) {
	start := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	s := &silence{hosts: map[string]*quiet{}}
	look := func(what string, seconds int, want bool) {
		t.Helper()
		if got := s.skips("a.example", at(seconds)); got != want {
			t.Errorf("%s: it is left alone: %v, want %v", what, got, want)
		}
	}
	for range silentAfter - 1 {
		s.missed("a.example", at(0), at(10))
	}
	look("one less than enough", 10, false)
	s.missed("a.example", at(0), at(10))
	for range 20 {
		s.missed("a.example", at(5), at(12))
	}
	look("silent", 39, true)
	look("after the first rest, which what was under way does not make longer", 40, false)
	look("while one request finds out", 41, true)
	s.missed("a.example", at(40), at(50))
	look("in the second rest", 109, true)
	look("after twice as long", 110, false)
	if s.skips("b.example", at(50)) {
		t.Error("another host is left alone, too")
	}
	s.heard("a.example")
	look("heard", 111, false)
	s.missed("a.example", at(111), at(121))
	look("one failure after that", 121, false)
}

func TestARestHasALongest(t *testing.T) {
	now := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	s := &silence{hosts: map[string]*quiet{}}
	for range 50 {
		if !s.skips("a.example", now) {
			s.missed("a.example", now, now)
		}
		now = now.Add(longestRest)
	}
	if got := s.hosts["a.example"].rest; got != longestRest {
		t.Errorf("it is left alone for %s", got)
	}
}

func TestSilentHostsDoNotFillTheMemory(t *testing.T) {
	now := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	s := &silence{hosts: map[string]*quiet{}}
	for i := range 10 * mostSilent {
		for range silentAfter {
			s.missed(fmt.Sprintf("%d.example", i), now, now)
		}
	}
	if len(s.hosts) > mostSilent {
		t.Errorf("%d hosts are remembered", len(s.hosts))
	}
}
