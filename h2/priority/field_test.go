package priority_test

import (
	"strings"
	"testing"

	"github.com/spillway-media/spillway/h2/priority"
)

func TestParseField(t *testing.T) {
	none := priority.NoWish()
	wish := func(u, i int8) priority.Wish { return priority.Wish{Urgency: u, Incremental: i} }
	for name, c := range map[string]struct {
		value string
		want  priority.Wish
	}{
		"an empty field says nothing":                          {"", none},
		"spaces say nothing":                                   {"   ", none},
		"a document of Chromium":                               {"u=0, i", wish(0, 1)},
		"a picture of Firefox":                                 {"u=5, i", wish(5, 1)},
		"the bare key is true":                                 {"i", wish(-1, 1)},
		"false is an opinion":                                  {"i=?0", wish(-1, 0)},
		"without spaces":                                       {"u=2,i=?1", wish(2, 1)},
		"tabs around the comma":                                {"u=2\t,\ti", wish(2, 1)},
		"spaces at both ends":                                  {"  u=2, i  ", wish(2, 1)},
		"a tab in front is none of the rule's":                 {"\tu=2", none},
		"a tab at the end is let pass":                         {"u=2\t", wish(2, -1)},
		"parameters of a member are skipped":                   {`u=2;a=1;b;c="x", i;q=0.5`, wish(2, 1)},
		"spaces before a parameter's name":                     {"u=2; a", wish(2, -1)},
		"unknown keys are skipped":                             {"change=(1000;u=3;i=?0 10000 100000), u=1, *x-y_z.9=?0", wish(1, -1)},
		"keys are lower case":                                  {"U=2", none},
		"of a key twice the last counts":                       {"u=2, u=6", wish(6, -1)},
		"the last counts also if it has no meaning":            {"u=2, u=9", none},
		"out of range above":                                   {"u=8, i", wish(-1, 1)},
		"out of range below":                                   {"u=-1, i", wish(-1, 1)},
		"minus nothing is 0":                                   {"u=-0", wish(0, -1)},
		"leading zeros":                                        {"u=007", wish(7, -1)},
		"a decimal is no urgency":                              {"u=3.0, i", wish(-1, 1)},
		"a string is no urgency":                               {`u="3", i`, wish(-1, 1)},
		"a token is no urgency":                                {"u=high, i", wish(-1, 1)},
		"a list is no urgency":                                 {"u=(1 2), i", wish(-1, 1)},
		"the bare key is no urgency":                           {"u, i", wish(-1, 1)},
		"a number is not true":                                 {"u=1, i=1", wish(1, -1)},
		"a string with quotes and commas in it":                {`x="a, u=1, \"\\", u=4`, wish(4, -1)},
		"bytes":                                                {"x=:aGk=:, u=4", wish(4, -1)},
		"a date":                                               {"x=@1659578233, u=4", wish(4, -1)},
		"a display string":                                     {`x=%"f%c3%bc, u=1", u=4`, wish(4, -1)},
		"a token with all its signs":                           {"x=*a!#$%&'*+-.^_`|~:/9, u=4", wish(4, -1)},
		"an empty list":                                        {"x=(), u=4", wish(4, -1)},
		"a list with spaces and parameters":                    {`x=( 1;a  "b" );c=1, u=4`, wish(4, -1)},
		"fifteen digits":                                       {"x=999999999999999, u=4", wish(4, -1)},
		"a comma at the end spoils all":                        {"u=2,", none},
		"a comma in front spoils all":                          {",u=2", none},
		"two commas spoil all":                                 {"u=2,,i", none},
		"a missing comma spoils all":                           {"u=2 i", none},
		"a missing value spoils all":                           {"u=", none},
		"sixteen digits spoil all":                             {"u=2, x=9999999999999999", none},
		"a decimal with four places spoils all":                {"u=2, x=1.0000", none},
		"a decimal with thirteen digits spoils all":            {"u=2, x=1234567890123.0", none},
		"a decimal without places spoils all":                  {"u=2, x=1.", none},
		"a lone minus spoils all":                              {"u=-", none},
		"a boolean is 0 or 1":                                  {"u=2, i=?2", none},
		"an open string spoils all":                            {`u=2, x="abc`, none},
		"an escape of another sign spoils all":                 {`u=2, x="\n"`, none},
		"a string has printable characters":                    {"u=2, x=\"\x01\"", none},
		"an open list spoils all":                              {"u=2, x=(1 2", none},
		"items of a list are apart":                            {`u=2, x=(1"a")`, none},
		"a list in a list spoils all":                          {"u=2, x=((1))", none},
		"open bytes spoil all":                                 {"u=2, x=:aGk=", none},
		"a date with a fraction spoils all":                    {"u=2, x=@1.5", none},
		"a display string has lower-case hexadecimals":         {`u=2, x=%"%C3"`, none},
		"a display string that ends in the middle spoils all":  {`u=2, x=%"%c`, none},
		"a display string has its quote":                       {"u=2, x=%a", none},
		"an open display string spoils all":                    {`u=2, x=%"a`, none},
		"a display string has printable characters":            {"u=2, x=%\"\x7f\"", none},
		"a key begins with a letter":                           {"u=2, 1x", none},
		"a parameter has a name":                               {"u=2;", none},
		"a parameter's name begins with a letter":              {"u=2;=1", none},
		"a parameter's value is an item":                       {"u=2;a=(1)", none},
		"what is no ASCII spoils all":                          {"u=2, ü", none},
		"a zero byte spoils all":                               {"u=2\x00", none},
		"an equals sign alone":                                 {"=", none},
		"a value that no item begins with":                     {"u=[", none},
		"the key of what we do not know may be of any length ": {strings.Repeat("k", 5000) + ", u=1", wish(1, -1)},
	} {
		t.Run(name, func(t *testing.T) {
			if got := priority.ParseField(c.value); got != c.want {
				t.Errorf("%q is %+v, not %+v", c.value, got, c.want)
			}
		})
	}
}

func TestParsingDoesNotAllocate(t *testing.T) {
	value := `u=2, i, change=(1000;u=3 10000), x="a\"b"`
	if n := testing.AllocsPerRun(100, func() { priority.ParseField(value) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Whatever comes, what is said is in range; and what is a dictionary stays one,
// with another member at its end, which then counts, and no other does.
func FuzzParseField(f *testing.F) {
	for _, seed := range []string{
		"", "u=0, i", "u=5,i=?0", "x=(1;a \"b\");c, u=1", "u=2,", "x=%\"%c3\"", "x=:aGk=:", "x=@1", "u=1.5", "\tu", "i;=", "u=-999999999999999",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		got := priority.ParseField(value)
		if got.Urgency < -1 || got.Urgency > 7 || got.Incremental < -1 || got.Incremental > 1 {
			t.Fatalf("%q is %+v", value, got)
		}
		longer := priority.ParseField(value + ", u=5")
		if longer == priority.NoWish() {
			if got != longer && strings.Trim(value, " ") != "" {
				t.Fatalf("%q is %+v, but no dictionary with a member more", value, got)
			}
			return
		}
		if longer.Urgency != 5 || longer.Incremental != got.Incremental {
			t.Fatalf("%q is %+v, but %+v with a member more", value, got, longer)
		}
	})
}
