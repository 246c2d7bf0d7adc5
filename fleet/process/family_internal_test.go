package process

import (
	"os"
	"testing"
)

func TestStatIsReadBehindTheLastBracketOfTheName(t *testing.T) {
	const rest = " S 1 42 41 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 3448447 1000 200"
	for name, c := range map[string]struct {
		text string
		want stat
		ok   bool
	}{
		"a plain name":                      {"42 (spillway)" + rest, stat{"S", 41, "3448447"}, true},
		"a name with brackets and spaces":   {"42 (a) Z 9 (b) c)" + rest, stat{"S", 41, "3448447"}, true},
		"a name without an end":             {"42 (spillway" + rest, stat{}, false},
		"a name without anything behind it": {"42 (spillway)", stat{}, false},
		"too few fields":                    {"42 (spillway) S 1 42 41 0 -1", stat{}, false},
		"a session that is no number":       {"42 (spillway) S 1 42 x 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 3448447 1000 200", stat{}, false},
		"nothing":                           {"", stat{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := parseStat([]byte(c.text)); got != c.want || ok != c.ok {
				t.Errorf("it is %+v, %t; want %+v, %t", got, ok, c.want, c.ok)
			}
		})
	}
	if s, ok := readStat(os.Getpid()); !ok || s.start == "" || s.state == "" {
		t.Errorf("this process is %+v, %t", s, ok)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("42 (a) b) S 1 42 41 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 3448447 1000 200"))
	f.Add([]byte(")("))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, ok := parseStat(text)
		if ok && (s.state == "" || s.start == "") {
			t.Errorf("%q is read as %+v", text, s)
		}
		if !ok && s != (stat{}) {
			t.Errorf("%q is refused with %+v", text, s)
		}
	})
}
