package httpapi_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// placeholderOf is the object of a JSON answer, and how many runs made it.
func placeholderOf(t *testing.T, b *bench, target string) map[string]string {
	t.Helper()
	res := b.get(target)
	text := body(t, res)
	var document struct {
		Images      []any
		Placeholder map[string]string
	}
	if err := json.Unmarshal([]byte(text), &document); err != nil || res.StatusCode != 200 {
		t.Fatalf("%s: %v: %s", res.Status, err, text)
	}
	if len(document.Images) == 0 {
		t.Error("there are no pictures beside the placeholder")
	}
	return document.Placeholder
}

func TestPlaceholdersComeFromTheDecodeOfThePicture(t *testing.T) {
	b := newBench(t, nil)
	got := placeholderOf(t, b, "/assets/a.jpg?format=png&encoder=json&placeholders=blurhash,thumbhash,lqip,color&sizes=40x0,80x0")
	if b.engine.runs.Load() != 1 {
		t.Errorf("%d runs", b.engine.runs.Load())
	}
	if len(got) != 4 || got["color"] != "#12abff" || len(got["blurhash"]) != 28 || len(got["thumbhash"]) < 24 || !strings.HasPrefix(got["lqip"], "data:image/png;base64,") {
		t.Errorf("got %v", got)
	}
	waitIdle(t, b)
	t.Run("again from the cache", func(t *testing.T) {
		again := placeholderOf(t, b, "/assets/a.jpg?format=png&encoder=json&placeholders=color&sizes=40x0,80x0")
		if b.engine.runs.Load() != 1 || len(again) != 1 || again["color"] != "#12abff" {
			t.Errorf("got %v after %d runs", again, b.engine.runs.Load())
		}
	})
	t.Run("none unless asked", func(t *testing.T) {
		if got := placeholderOf(t, b, "/assets/a.jpg?format=png&encoder=json"); got != nil {
			t.Errorf("got %v", got)
		}
	})
	t.Run("only in JSON", func(t *testing.T) {
		p := wantProblem(t, b.get("/assets/a.jpg?placeholders=color"), 400, "invalid-parameter")
		if p.Parameter != "placeholders" || !strings.Contains(p.Detail, "encoder=json") {
			t.Errorf("got %+v", p)
		}
	})
}
