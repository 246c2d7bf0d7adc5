package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/httpapi"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/transform"
)

func TestStatuses(t *testing.T) {
	want := map[media.Code]int{
		media.CodeInvalidParameter: 400, media.CodeUnwritable: 400,
		media.CodeSourceForbidden: 403, "signature-missing": 403, "signature-invalid": 403, "signature-expired": 403,
		media.CodeSourceNotFound: 404, "not-found": 404, "method-not-allowed": 405,
		media.CodeSourceTooLarge: 413, "url-too-long": 414, "range-not-satisfiable": 416, media.CodeUnsupported: 415,
		media.CodeDecodeFailed: 422, media.CodePixels: 422, media.CodeFrames: 422, media.CodeScans: 422,
		media.CodeSVG: 422, media.CodeMetadata: 422, media.CodePage: 422, media.CodeOutputSide: 422,
		media.CodeOutputBytes: 422, media.CodeMemory: 422, media.CodeTimeout: 422,
		media.CodeEncodeFailed: 500, "internal": 500, media.CodeSourceFailed: 502,
		media.CodeOverloaded: 503, "not-ready": 503, media.CodeSourceUnavailable: 503, media.CodeSourceTimeout: 504,
		media.CodeCancelled: 499,
		"invalid-body":      400, "unauthorized": 401, "read-only-token": 403, "job-not-found": 404, "output-not-found": 404,
		"body-timeout": 408, "job-state": 409, "body-too-large": 413, "upload-too-large": 413,
		"invalid-job": 422, "idempotency-key-reused": 422, "store-unavailable": 503,
	}
	got := httpapi.Codes()
	for code, status := range want {
		if got[code] != status {
			t.Errorf("%s has status %d, want %d", code, got[code], status)
		}
		delete(got, code)
	}
	for code, status := range got {
		t.Errorf("%s has status %d and no line in this test", code, status)
	}
}

// A code that media gains and the table lacks would come out as 500.
func TestEveryCodeOfMediaHasAStatus(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../media/errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	known, seen := httpapi.Codes(), 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Code") {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		seen++
		if known[media.Code(value)] == 0 {
			t.Errorf("%s (%s) has no status", spec.Names[0].Name, value)
		}
		return true
	})
	if seen < 20 {
		t.Errorf("only %d codes were found", seen)
	}
}

func TestProblems(t *testing.T) {
	t.Run("a source's fault is told with its own words", func(t *testing.T) {
		b := newBench(t, nil)
		b.source.err = media.Errorf(media.CodeSourceForbidden, "The host h is not allowed.")
		if p := wantProblem(t, b.get("/resize?image_url=https://h/a"), 403, "source-forbidden"); p.Detail != "The host h is not allowed." {
			t.Errorf("detail is %q", p.Detail)
		}
	})
	t.Run("a slow source is a gateway timeout", func(t *testing.T) {
		b := newBench(t, nil)
		b.source.err = media.Errorf(media.CodeSourceTimeout, "The source took longer than 30 s.")
		wantProblem(t, b.get("/assets/a.jpg"), 504, "source-timeout")
	})
	t.Run("an unknown fault tells nothing of itself", func(t *testing.T) {
		b := newBench(t, nil)
		b.engine.run = func(context.Context, *media.Plan, transform.Begin) error {
			return errors.New("open /etc/secret: denied")
		}
		p := wantProblem(t, b.get("/assets/a.jpg"), 500, "encode-failed")
		if strings.Contains(p.Detail, "secret") {
			t.Errorf("detail is %q", p.Detail)
		}
		if !strings.Contains(b.logged.String(), "/etc/secret") {
			t.Error("the cause is not logged")
		}
	})
	t.Run("overload says when to come back", func(t *testing.T) {
		b := newBench(t, nil)
		b.source.err = media.Errorf(media.CodeOverloaded, "The server is busy.")
		res := b.get("/assets/a.jpg")
		wantProblem(t, res, 503, "overloaded")
		if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err != nil || seconds < 1 {
			t.Errorf("Retry-After is %q", res.Header.Get("Retry-After"))
		}
	})
	t.Run("a fault that knows when to come back says so itself", func(t *testing.T) {
		b := newBench(t, nil)
		b.source.err = &media.Error{
			Code: media.CodeSourceUnavailable, Detail: "The source fails.", RetryAfter: 6500 * time.Millisecond,
		}
		res := b.get("/assets/a.jpg")
		wantProblem(t, res, 503, "source-unavailable")
		if got, err := strconv.Atoi(res.Header.Get("Retry-After")); err != nil || got < 7 || got > 10 {
			t.Errorf("Retry-After is %q, want 7 to 10", res.Header.Get("Retry-After"))
		}
	})
	t.Run("who was refused together does not come back together", func(t *testing.T) {
		b := newBench(t, nil)
		b.source.err = &media.Error{Code: media.CodeSourceUnavailable, Detail: "The source fails.", RetryAfter: 20 * time.Second}
		told := map[string]bool{}
		for range 100 {
			told[b.get("/assets/a.jpg").Header.Get("Retry-After")] = true
		}
		if len(told) < 5 || told["19"] || told["31"] {
			t.Errorf("all are told to come back after %v", told)
		}
	})
	t.Run("work the server gives up itself is worth another try", func(t *testing.T) {
		b := newBench(t, nil)
		b.source.err = media.Errorf(media.CodeCancelled, "The request ended.")
		res := b.get("/assets/a.jpg")
		wantProblem(t, res, 503, "overloaded")
		if res.Header.Get("Retry-After") == "" {
			t.Error("Retry-After is missing")
		}
	})
}

// The reference lists every code with its status, and no others.
func TestDocsListEveryCode(t *testing.T) {
	text, err := os.ReadFile("../../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[media.Code]int{}
	row := regexp.MustCompile("(?m)^\\| (\\d{3}) \\| <a id=\"([a-z-]+)\"></a>`([a-z-]+)` \\|")
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		if m[2] != m[3] {
			t.Errorf("the anchor %s stands at %s", m[2], m[3])
		}
		documented[media.Code(m[3])], _ = strconv.Atoi(m[1])
	}
	codes := httpapi.Codes()
	delete(codes, media.CodeCancelled) // no answer carries it
	for code, status := range codes {
		if documented[code] != status {
			t.Errorf("%s: the table says %d, docs/http.md %d", code, status, documented[code])
		}
		delete(documented, code)
	}
	for code := range documented {
		t.Errorf("docs/http.md has %s, which does not exist", code)
	}
}

var update = flag.Bool("update", false, "write the table of parameters into docs/http.md")

// The table of parameters is the one that the parser reads.
func TestDocsListEveryParameter(t *testing.T) {
	const file, begin, end = "../../docs/http.md", "<!-- parameters -->\n", "<!-- /parameters -->"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), begin)
	got, after, found := strings.Cut(rest, end)
	if !found {
		t.Fatal("docs/http.md has no place for the parameters")
	}
	var want strings.Builder
	want.WriteString("| Parameter | Value | Default | Meaning |\n|---|---|---|---|\n")
	for _, p := range media.Parameters() {
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", p.Name, p.Syntax, p.Default, p.Meaning)
	}
	if *update {
		if err := os.WriteFile(file, []byte(before+begin+want.String()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want.String(), got); diff != "" {
		t.Errorf("run go test ./internal/httpapi -run Parameter -update:\n%s", diff)
	}
}

// The problem of the reference is one that the server really gives.
func TestDocsProblemExample(t *testing.T) {
	text, err := os.ReadFile("../../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```json\n(\\{\"type\".*?)```").FindSubmatch(text)
	if block == nil {
		t.Fatal("docs/http.md shows no problem")
	}
	var want problem
	if err := json.Unmarshal(block[1], &want); err != nil {
		t.Fatal(err)
	}
	got := wantProblem(t, newBench(t, nil).get("/resize?image_url=a.jpg&quality=101"), 400, "invalid-parameter")
	got.RequestID = want.RequestID
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The worked example of the reference has to work.
func TestDocsSignatureExample(t *testing.T) {
	text, err := os.ReadFile("../../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	find := func(what string) string {
		m := regexp.MustCompile("(?m)^" + what + ": `(.*)`$").FindSubmatch(text)
		if m == nil {
			t.Fatalf("docs/http.md has no line %q", what)
		}
		return string(m[1])
	}
	key, url, signature, full := find("Key"), find("Path and query"), find("Signature"), find("Signed")
	if got := httpapi.Sign([]byte(key), url); got != signature {
		t.Errorf("Sign gives %s, the reference says %s", got, signature)
	}
	if got := httpapi.SignURL([]byte(key), url); got != full {
		t.Errorf("SignURL gives %s, the reference says %s", got, full)
	}
	b := newBench(t, func(s *settings) { s.http.Keys = [][]byte{[]byte(key)} })
	if res := b.get(full); res.StatusCode != http.StatusOK {
		t.Error(body(t, res))
	}
}
