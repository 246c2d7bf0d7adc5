package notify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/internal/notify"
)

// end is the other end of a channel: it answers with the statuses in turn, the
// last one for ever.
type end struct {
	mu       sync.Mutex
	statuses []int
	got      []heard
	first    chan struct{} // closed when something was heard
}

type heard struct {
	header http.Header
	body   []byte
}

func (e *end) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.got = append(e.got, heard{r.Header, body}); len(e.got) == 1 {
		close(e.first)
	}
	status := e.statuses[min(len(e.got), len(e.statuses))-1]
	if status >= 300 && status < 400 {
		w.Header().Set("Location", "/elsewhere")
	}
	w.WriteHeader(status)
}

func (e *end) heard() []heard {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.got
}

func answering(t *testing.T, statuses ...int) (*end, string) {
	t.Helper()
	e := &end{statuses: statuses, first: make(chan struct{})}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	return e, server.URL
}

func alerts(log io.Writer, channels ...notify.Channel) *notify.Alerts {
	return notify.NewAlerts(func() []notify.Channel { return channels }, slog.New(slog.NewJSONHandler(log, nil))).WithPause(time.Millisecond)
}

func channel(kind, url, template string, key []byte, levels ...fleet.Level) notify.Channel {
	return notify.Channel{Channel: fleet.Channel{Kind: kind, URL: url, Template: template, Levels: levels}, Key: key}
}

func notice() fleet.Notice {
	at := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	return fleet.Notice{Key: "queue_depth/ocr", Level: fleet.Warning, Name: "queue_depth", Sentence: `Queue "ocr" is deep`, At: at, Since: at.Add(-10 * time.Minute), Queue: "ocr", Value: "51", Threshold: "50", Decision: "d-1"}
}

func TestAWebhookGetsASignedDocument(t *testing.T) {
	e, url := answering(t, http.StatusOK)
	key := []byte("0123456789abcdef")
	if err := alerts(io.Discard, channel("webhook", url, "", key)).Notify(t.Context(), notice()); err != nil {
		t.Fatal(err)
	}
	got := e.heard()[0]
	var n fleet.Notice
	if err := json.Unmarshal(got.body, &n); err != nil || n != notice() {
		t.Errorf("it got %s", got.body)
	}
	if err := notify.Verify(key, got.body, got.header.Get("Spillway-Signature"), time.Now(), time.Minute); err != nil {
		t.Error(err)
	}
	if got.header.Get("Spillway-Event") != "alert.raised" || got.header.Get("Authorization") != "" || got.header.Get("Spillway-Delivery") == "" {
		t.Errorf("the header is %v", got.header)
	}
}

func TestAConsoleGetsItsToken(t *testing.T) {
	e, url := answering(t, http.StatusNoContent)
	n := notice()
	n.Resolved = true
	if err := alerts(io.Discard, channel("console", url, "", []byte("0123456789abcdef"))).Notify(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	header := e.heard()[0].header
	if header.Get("Authorization") != "Bearer 0123456789abcdef" || header.Get("Spillway-Signature") != "" || header.Get("Spillway-Event") != "alert.resolved" {
		t.Errorf("the header is %v", header)
	}
}

func TestATemplateMakesWhatSlackAndAlertmanagerTake(t *testing.T) {
	for name, c := range map[string]struct{ template, want string }{
		"Slack":        {`{"text": {{json .Sentence}}}`, `{"text": "Queue \"ocr\" is deep"}`},
		"Alertmanager": {`[{"labels": {"alertname": {{json .Name}}, "severity": {{json .Level}}, "queue": {{json .Queue}}}, "startsAt": {{json .Since}}{{if .Resolved}}, "endsAt": {{json .At}}{{end}}}]`, `[{"labels": {"alertname": "queue_depth", "severity": "warning", "queue": "ocr"}, "startsAt": "2026-12-01T11:50:00Z"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			if err := notify.CheckTemplate(c.template); err != nil {
				t.Fatal(err)
			}
			e, url := answering(t, http.StatusOK)
			if err := alerts(io.Discard, channel("webhook", url, c.template, nil)).Notify(t.Context(), notice()); err != nil {
				t.Fatal(err)
			}
			if got := string(e.heard()[0].body); got != c.want {
				t.Errorf("it got %s", got)
			}
		})
	}
}

func TestATemplateThatCannotWorkIsRefusedWithoutBeingQuoted(t *testing.T) {
	for name, template := range map[string]string{
		"no template":        `{"token": "hunter2", "text": {{json .Sentence}`,
		"no such field":      `{"token": "hunter2", "text": {{json .Text}}}`,
		"no JSON":            `hunter2 {{.Sentence}}`,
		"a text not escaped": `{"token": "hunter2", "text": "{{.Sentence}}"}`,
	} {
		t.Run(name, func(t *testing.T) {
			if err := notify.CheckTemplate(template); err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the fault is %v", err)
			}
		})
	}
}

func TestChannelsTakeTheirLevelsOnly(t *testing.T) {
	critical, url := answering(t, http.StatusOK)
	all, urlAll := answering(t, http.StatusOK)
	a := alerts(io.Discard, channel("webhook", url, "", nil, fleet.Critical), channel("webhook", urlAll, "", nil))
	for _, level := range []fleet.Level{fleet.Info, fleet.Warning, fleet.Critical} {
		n := notice()
		n.Level = level
		if err := a.Notify(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	if len(critical.heard()) != 1 || len(all.heard()) != 3 {
		t.Errorf("critical got %d, all %d", len(critical.heard()), len(all.heard()))
	}
}

func TestAFailureForNowIsTriedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		statuses []int
		tries    int
		fails    bool
	}{
		"503, then well":              {[]int{503, 200}, 2, false},
		"429 twice, then well":        {[]int{429, 429, 200}, 3, false},
		"503 for ever":                {[]int{503}, 3, true},
		"400 is for good":             {[]int{400}, 1, false},
		"404 is for good":             {[]int{404}, 1, false},
		"a redirect is not followed":  {[]int{302}, 1, false},
		"well at once, and no second": {[]int{200}, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			e, url := answering(t, c.statuses...)
			err := alerts(io.Discard, channel("webhook", url, "", nil)).Notify(t.Context(), notice())
			if (err != nil) != c.fails || len(e.heard()) != c.tries {
				t.Errorf("%d tries, %v", len(e.heard()), err)
			}
		})
	}
}

func TestOnlyTheChannelThatMissedANoticeGetsItAgain(t *testing.T) {
	well, url := answering(t, http.StatusOK)
	ill, urlIll := answering(t, 503, 503, 503, 200)
	a := alerts(io.Discard, channel("webhook", url, "", nil), channel("webhook", urlIll, "", nil))
	if err := a.Notify(t.Context(), notice()); err == nil {
		t.Error("the first time was no failure")
	}
	again := notice()
	again.At = again.At.Add(time.Minute)
	if err := a.Notify(t.Context(), again); err != nil {
		t.Error(err)
	}
	if len(well.heard()) != 1 || len(ill.heard()) != 4 {
		t.Errorf("well got %d, ill %d", len(well.heard()), len(ill.heard()))
	}
	deliveries := map[string]bool{}
	for _, h := range ill.heard() {
		deliveries[h.header.Get("Spillway-Delivery")] = true
	}
	if len(deliveries) != 1 {
		t.Errorf("one notice has the deliveries %v", deliveries)
	}
	again.At = again.At.Add(time.Hour) // its quiet period is over
	if err := a.Notify(t.Context(), again); err != nil || len(well.heard()) != 2 {
		t.Errorf("the next round: %d, %v", len(well.heard()), err)
	}
}

func TestTheLogIsAChannelAndTheOnlyOneWithoutAny(t *testing.T) {
	for name, channels := range map[string][]notify.Channel{"named": {channel("log", "", "", nil)}, "without any": nil} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := alerts(&out, channels...).Notify(t.Context(), notice()); err != nil {
				t.Fatal(err)
			}
			var line map[string]any
			if err := json.Unmarshal(out.Bytes(), &line); err != nil {
				t.Fatal(err)
			}
			delete(line, "time")
			want := map[string]any{"level": "WARN", "msg": "alert", "alert": "queue_depth", "alert_level": "warning", "reason": `Queue "ocr" is deep`, "resolved": false, "queue": "ocr", "decision_id": "d-1"}
			if diff := cmp.Diff(want, line); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNeitherALogNorAnErrorShowsAnAddressOrAKey(t *testing.T) {
	for name, statuses := range map[string][]int{"for good": {403}, "for now": {503}} {
		t.Run(name, func(t *testing.T) {
			_, url := answering(t, statuses...)
			url = strings.Replace(url, "http://", "http://me:hunter2@", 1) + "/services/T00/hunter2?token=hunter2"
			var out bytes.Buffer
			err := alerts(&out, channel("webhook", url, "", []byte("hunter2hunter2hunter2"))).Notify(t.Context(), notice())
			if err != nil && strings.Contains(err.Error(), "hunter2") || strings.Contains(out.String(), "hunter2") {
				t.Errorf("%v\n%s", err, out.String())
			}
		})
	}
}

func TestAChannelThatDoesNotAnswerIsLeftAloneForTheRestOfTheTick(t *testing.T) {
	ill, url := answering(t, 503)
	a := alerts(io.Discard, channel("webhook", url, "", nil))
	for i, tries := range []int{3, 3, 3, 6} {
		n := notice()
		n.Key = "queue_depth/" + string(rune('a'+i))
		if i == 3 {
			n.At = n.At.Add(time.Minute)
		}
		if err := a.Notify(t.Context(), n); err == nil || len(ill.heard()) != tries {
			t.Errorf("notice %d: %d tries in all, %v", i, len(ill.heard()), err)
		}
	}
}

func TestAChannelThatHangsHoldsNothingUpPastItsContext(t *testing.T) {
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-hang:
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(hang) })
	well, url := answering(t, http.StatusOK)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- alerts(io.Discard, channel("webhook", server.URL, "", nil), channel("webhook", url, "", nil)).Notify(ctx, notice())
	}()
	<-well.first
	cancel()
	if err := <-ended; err == nil {
		t.Error("it says that all is well")
	}
}
