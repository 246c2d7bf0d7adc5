package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"text/template"
	"time"

	"github.com/spillway-media/spillway/fleet"
)

// maxAlert bounds what a template makes of one notice.
const maxAlert = 64 << 10

// post sends a notice, and again when the other end is not there for now.
func (a *Alerts) post(ctx context.Context, c Channel, n fleet.Notice, delivery string) error {
	body, err := render(c.Template, n)
	if err != nil {
		a.log.Warn("alert given up", "channel", c.Kind, "host", hostOf(c.URL), "alert", n.Name, "reason", err)
		return nil
	}
	for try := 1; ; try++ {
		status, failure := a.once(ctx, c, n, delivery, body)
		switch {
		case failure == "":
			return nil
		case status != 0 && !comesBack(status):
			a.log.Warn("alert given up", "channel", c.Kind, "host", hostOf(c.URL), "alert", n.Name, "reason", failure)
			return nil
		case try == alertTries || !rest(ctx, a.pause*time.Duration(try)):
			return fmt.Errorf("tell %s at %s: %s", c.Kind, hostOf(c.URL), failure)
		}
	}
}

// comesBack is true for a status that says that the same may work later.
func comesBack(status int) bool {
	return status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
}

// rest is false when ctx ends first.
func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// once makes one request. What it says of a failure has no URL in it.
func (a *Alerts) once(ctx context.Context, c Channel, n fleet.Notice, delivery string, body []byte) (status int, failure string) {
	ctx, cancel := context.WithTimeout(ctx, alertTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(body))
	if err != nil {
		return http.StatusBadRequest, "the address is no URL"
	}
	a.head(req, c, n, delivery, body)
	res, err := a.transport.RoundTrip(req)
	if err != nil {
		return 0, reason(err)
	}
	_, _ = io.CopyN(io.Discard, res.Body, 4<<10)
	_ = res.Body.Close()
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		return res.StatusCode, ""
	}
	return res.StatusCode, "answered with status " + strconv.Itoa(res.StatusCode)
}

func (a *Alerts) head(req *http.Request, c Channel, n fleet.Notice, delivery string, body []byte) {
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Spillway")
	event := "alert.raised"
	if n.Resolved {
		event = "alert.resolved"
	}
	req.Header.Set("Spillway-Event", event)
	req.Header.Set("Spillway-Delivery", delivery)
	if user := req.URL.User; user != nil {
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
	}
	switch {
	case len(c.Key) == 0:
	case c.Kind == "console":
		req.Header.Set("Authorization", "Bearer "+string(c.Key))
	default:
		req.Header.Set("Spillway-Signature", Sign(c.Key, body, time.Now()))
	}
}

// render makes the JSON that is sent: the notice itself, or what a template
// makes of it.
func render(text string, n fleet.Notice) ([]byte, error) {
	if text == "" {
		return json.Marshal(n)
	}
	t, err := template.New("alert").Funcs(template.FuncMap{"json": jsonText}).Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, errors.New("it is no Go template")
	}
	var out bytes.Buffer
	if err := t.Execute(&out, n); err != nil {
		return nil, errors.New("it asks for what a notice does not have")
	}
	if out.Len() > maxAlert || !json.Valid(out.Bytes()) {
		return nil, errors.New("it does not make JSON; write values as {{json .Sentence}}")
	}
	return out.Bytes(), nil
}

func jsonText(value any) (string, error) {
	text, err := json.Marshal(value)
	return string(text), err
}

// CheckTemplate tries a template of alerts on an example. It repeats nothing of
// the template, which may hold a token.
func CheckTemplate(text string) error {
	at := time.Unix(0, 0)
	_, err := render(text, fleet.Notice{
		Key: "queue_depth/images", Level: fleet.Warning, Name: "queue_depth", Sentence: `It says "so" & <more>`,
		At: at, Since: at, Queue: "images", WorkerID: "w-1", Value: "51", Threshold: "50", Decision: "d-1",
	})
	return err
}
