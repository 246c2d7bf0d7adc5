package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
)

// Params may have a megabyte each, and a page of jobs has a bound in bytes, too.
func TestAPageOfLongJobsEndsEarly(t *testing.T) {
	b := newJobBench(t, nil)
	long := strings.Repeat("x", 900<<10)
	for range 25 {
		b.enter(t, fmt.Sprintf(`{"type":"echo","params":{"text":%q}}`, long))
	}
	target, seen := "/v1/jobs?limit=200", 0
	for pages := 1; ; pages++ {
		res := b.call("GET", target, "")
		if res.ContentLength > 9<<20 {
			t.Errorf("page %d has %d bytes", pages, res.ContentLength)
		}
		page := answer[jobPage](t, res, 200)
		seen += len(page.Jobs)
		if page.Next == "" {
			break
		}
		target = "/v1/jobs?limit=200&cursor=" + page.Next
	}
	if seen != 25 {
		t.Errorf("%d of 25 jobs are on the pages", seen)
	}
}

func TestAPageIsReadInStepsThatAreNotSeen(t *testing.T) {
	b := newJobBench(t, nil)
	for range 45 {
		b.enter(t, `{"type":"echo"}`)
	}
	for limit, next := range map[int]string{20: "26", 40: "6", 44: "2", 45: "1", 46: ""} {
		page := answer[jobPage](t, b.call("GET", fmt.Sprintf("/v1/jobs?limit=%d", limit), ""), 200)
		if len(page.Jobs) != min(limit, 45) || page.Next != next {
			t.Errorf("limit %d: %d jobs, next %q, want %q", limit, len(page.Jobs), page.Next, next)
		}
	}
}
