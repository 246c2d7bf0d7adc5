package notify_test

import (
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/notify"
)

func TestSignatures(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	body := []byte(`{"id":"1"}`)
	good := notify.Sign(key, body, at)
	cases := map[string]struct {
		key, body []byte
		signature string
		now       time.Time
		ok        bool
	}{
		"the same key and body":           {key, body, good, at, true},
		"a few minutes later":             {key, body, good, at.Add(5 * time.Minute), true},
		"too much later":                  {key, body, good, at.Add(5*time.Minute + time.Second), false},
		"before it was made":              {key, body, good, at.Add(-6 * time.Minute), false},
		"another key":                     {[]byte("another key of length"), body, good, at, false},
		"another body":                    {key, []byte(`{"id":"2"}`), good, at, false},
		"another time":                    {key, body, "t=1800000001" + good[len("t=1800000000"):], at, false},
		"no signature":                    {key, body, "", at, false},
		"half of one":                     {key, body, good[:20], at, false},
		"a shorter one":                   {key, body, good[:len(good)-2], at, false},
		"one of a time that is no number": {key, body, notifyOf("x"), at, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if err := notify.Verify(c.key, c.body, c.signature, c.now, 5*time.Minute); (err == nil) != c.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}

func notifyOf(at string) string { return "t=" + at + ",v1=00" }

func FuzzSignature(f *testing.F) {
	f.Add(notify.Sign(key, nil, time.Unix(0, 0)))
	f.Add("t=,v1=")
	f.Fuzz(func(t *testing.T, signature string) {
		if notify.Verify([]byte("another key of length"), []byte("body"), signature, time.Unix(0, 0), time.Hour) == nil {
			t.Errorf("%q is taken", signature)
		}
	})
}
