package priority_test

import (
	"testing"

	"github.com/spillway-media/spillway/h2/priority"
)

func TestMerge(t *testing.T) {
	wish := func(u, i int8) priority.Wish { return priority.Wish{Urgency: u, Incremental: i} }
	params := func(u uint8, i bool) priority.Params {
		return priority.Params{Urgency: u, Incremental: i, Weight: 16}
	}
	for name, c := range map[string]struct {
		client, server priority.Wish
		want           priority.Params
	}{
		"nobody has an opinion":                        {wish(-1, -1), wish(-1, -1), params(3, false)},
		"the client has":                               {wish(1, 1), wish(-1, -1), params(1, true)},
		"the server has":                               {wish(-1, -1), wish(6, 1), params(6, true)},
		"the server's opinion counts":                  {wish(1, 1), wish(6, 0), params(6, false)},
		"of both parameters on its own: the urgency":   {wish(1, 1), wish(6, -1), params(6, true)},
		"of both parameters on its own: the other":     {wish(1, 1), wish(-1, 0), params(1, false)},
		"0 is an opinion":                              {wish(5, -1), wish(0, -1), params(0, false)},
		"what nobody could have parsed stays in range": {wish(100, 100), wish(-128, -128), params(7, true)},
	} {
		t.Run(name, func(t *testing.T) {
			if got := priority.Merge(c.client, c.server); got != c.want {
				t.Errorf("%+v, not %+v", got, c.want)
			}
		})
	}
	if got := priority.Merge(priority.NoWish(), priority.NoWish()); got != priority.Default() {
		t.Errorf("without wishes %+v, by default %+v", got, priority.Default())
	}
}

func TestEffectiveUrgency(t *testing.T) {
	for _, c := range []struct {
		phase priority.Phase
		want  [8]uint8 // for urgencies 0 to 7
	}{
		{priority.Header, [8]uint8{0, 1, 1, 1, 1, 1, 1, 1}},
		{priority.Preview, [8]uint8{0, 1, 2, 3, 4, 5, 6, 7}},
		{priority.Body, [8]uint8{0, 1, 2, 3, 4, 5, 6, 7}},
		{priority.Good, [8]uint8{4, 4, 4, 4, 5, 6, 7, 7}},
		{priority.Rest, [8]uint8{4, 4, 4, 5, 6, 7, 7, 7}},
	} {
		for u, want := range c.want {
			if got := priority.Effective(uint8(u), c.phase); got != want {
				t.Errorf("phase %d with urgency %d is as urgent as %d, not %d", c.phase, u, got, want)
			}
		}
	}
}
