package interop_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// h2specTests is how many cases h2spec 2.2.1 has.
const h2specTests = 145

var h2specCounts = regexp.MustCompile(`(?m)^(\d+) tests, (\d+) passed, (\d+) skipped, (\d+) failed$`)

// TestH2spec holds the server to the frames, states and errors of RFC 9113 and
// RFC 7541. In the clear a connection that does not begin with HTTP/2's preface
// is one of HTTP/1.1, and is told so; h2spec counts that as a failure.
func TestH2spec(t *testing.T) {
	for _, c := range []struct {
		site
		passed int // at least
	}{
		{sites[0], h2specTests},
		{sites[1], h2specTests - 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.site)
			args := []string{"-h", s.url.Hostname(), "-p", s.url.Port(), "-P", "/healthz"}
			if c.secure {
				args = append(args, "-t", "-k")
			}
			got := run(t, "h2spec", args...)
			counts := h2specCounts.FindStringSubmatch(got.out)
			if counts == nil {
				t.Fatalf("h2spec gave no counts:\n%s\n%s", got.out, got.err)
			}
			total, passed := number(t, counts[1]), number(t, counts[2])
			if _, failures, found := strings.Cut(got.out, "Failures:"); found {
				t.Log(failures)
			}
			if total != h2specTests || passed < c.passed {
				t.Errorf("h2spec: %s; want at least %d of %d passed", counts[0], c.passed, h2specTests)
			}
			t.Logf("summary: h2spec %s: %s", c.name, counts[0])
		})
	}
}

func number(t *testing.T, digits string) int {
	t.Helper()
	n, err := strconv.Atoi(digits)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
