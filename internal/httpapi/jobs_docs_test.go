package httpapi_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/notify"
	"github.com/spillway-media/spillway/jobs"
)

func reference(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The reference lists the routes there are, and no others.
func TestDocsListEveryRouteOfJobs(t *testing.T) {
	var got []string
	for _, m := range regexp.MustCompile("(?m)^\\| `((?:GET|POST) /v1/\\S+)` \\|").FindAllStringSubmatch(reference(t), -1) {
		got = append(got, m[1])
	}
	got = append(got, "GET /v1/openapi.json") // of the words above the table
	var want []string
	for _, route := range newJobBench(t, nil).Routes() {
		want = append(want, strings.Replace(route, "{key...}", "{key}", 1))
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The reference lists the fields that a job can be asked for with, and of those
// that it has.
func TestDocsListEveryFieldOfJobs(t *testing.T) {
	text := reference(t)
	_, rest, _ := strings.Cut(text, "<!-- job fields -->")
	table, rest, found := strings.Cut(rest, "<!-- /job fields -->")
	if !found {
		t.Fatal("docs/http.md has no table of fields")
	}
	var got []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(table, -1) {
		got = append(got, m[1])
	}
	slices.Sort(got)
	want := append(jsonFields(jobs.Spec{}), "delay_seconds", "wait_limit_seconds", "work_limit_seconds")
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	section, _, _ := strings.Cut(rest, "### Lists")
	for _, field := range jsonFields(jobs.Document{}) {
		if !slices.Contains(want, field) && !strings.Contains(section, "`"+field+"`") {
			t.Errorf("docs/http.md does not say what %s is", field)
		}
	}
}

// The worked example of the reference has to work.
func TestDocsWebhookExample(t *testing.T) {
	text := reference(t)
	find := func(what string) string {
		m := regexp.MustCompile("(?m)^" + what + ": `(.*)`$").FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("docs/http.md has no line %q", what)
		}
		return m[1]
	}
	key, body, signature := []byte(find("Webhook key")), []byte(find("Webhook body")), find("Webhook signature")
	at := time.Unix(1796108400, 0)
	if got := notify.Sign(key, body, at); got != signature {
		t.Errorf("Sign gives %s, the reference says %s", got, signature)
	}
	if err := notify.Verify(key, body, signature, at, time.Minute); err != nil {
		t.Error(err)
	}
}
