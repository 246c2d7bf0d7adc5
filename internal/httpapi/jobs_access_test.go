package httpapi_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"github.com/spillway-media/spillway/internal/httpapi"
)

func TestWhoMayUseJobs(t *testing.T) {
	b := newJobBench(t, nil)
	b.enter(t, `{"type":"echo"}`)
	cases := map[string]struct {
		request, authorization string
		status                 int
		code                   string
	}{
		"nobody without a token":                   {"GET /v1/jobs", "", 401, "unauthorized"},
		"nobody with another scheme":               {"GET /v1/jobs", "Basic " + b.who, 401, "unauthorized"},
		"nobody with no token behind it":           {"GET /v1/jobs", "Bearer ", 401, "unauthorized"},
		"nobody with an unknown token":             {"GET /v1/jobs", "Bearer " + b.who + "x", 401, "unauthorized"},
		"nobody with a hash":                       {"GET /v1/jobs", "Bearer " + hashOf(b.who), 401, "unauthorized"},
		"nobody may enqueue without":               {"POST /v1/jobs", "", 401, "unauthorized"},
		"nobody may fetch outputs without":         {"GET /v1/outputs/jobs/1/a", "", 401, "unauthorized"},
		"a token may ask":                          {"GET /v1/jobs", "Bearer " + b.who, 200, ""},
		"the scheme's case does not matter":        {"GET /v1/jobs", "bEARER " + b.who, 200, ""},
		"a token may look with HEAD":               {"HEAD /v1/jobs", "Bearer " + b.who, 200, ""},
		"a reading token may ask":                  {"GET /v1/jobs", "Bearer " + b.look, 200, ""},
		"a reading token may ask for queues":       {"GET /v1/queues", "Bearer " + b.look, 200, ""},
		"a reading token may not enqueue":          {"POST /v1/jobs", "Bearer " + b.look, 403, "read-only-token"},
		"a reading token may not cancel":           {"POST /v1/jobs/1/cancel", "Bearer " + b.look, 403, "read-only-token"},
		"a reading token may not retry":            {"POST /v1/jobs/1/retry", "Bearer " + b.look, 403, "read-only-token"},
		"a reading token may not upload":           {"POST /v1/uploads", "Bearer " + b.look, 403, "read-only-token"},
		"anybody may read what there is":           {"GET /v1/openapi.json", "", 200, ""},
		"other methods are refused":                {"DELETE /v1/jobs/1", "Bearer " + b.who, 405, "method-not-allowed"},
		"places that are none are":                 {"GET /v1/job", "Bearer " + b.who, 404, "not-found"},
		"places below are none":                    {"GET /v1/jobs/1/events/x", "Bearer " + b.who, 404, "not-found"},
		"a slash at the end is another place":      {"GET /v1/jobs/", "Bearer " + b.who, 404, "not-found"},
		"so is a name that only begins like jobs'": {"GET /v1/queues2", "Bearer " + b.who, 404, "not-found"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			method, target, _ := strings.Cut(c.request, " ")
			var headers []string
			if c.authorization != "" {
				headers = append(headers, "Authorization: "+c.authorization)
			}
			res := send(b.public, method, target, "", headers...)
			if c.code == "" {
				if res.StatusCode != c.status {
					t.Errorf("got %d", res.StatusCode)
				}
				return
			}
			p := wantProblem(t, res, c.status, c.code)
			if c.code == "not-found" && !strings.Contains(p.Detail, "/v1/openapi.json") {
				t.Errorf("where to look for what there is, it does not say: %s", p.Detail)
			}
			if asks := res.Header.Get("WWW-Authenticate"); (c.status == 401 || c.status == 403) != strings.HasPrefix(asks, "Bearer ") {
				t.Errorf("WWW-Authenticate is %q", asks)
			}
		})
	}
	t.Run("no token is in the log, and names are", func(t *testing.T) {
		text := b.logged.String()
		if strings.Contains(text, b.who) || strings.Contains(text, b.look) {
			t.Error("a token is in the log")
		}
		if !strings.Contains(text, `"token_name":"dashboard"`) {
			t.Error("the name of a token is not in the log")
		}
	})
}

func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Scripts of other sites get no leave, whatever pictures do.
func TestJobsAnswerNoOtherSite(t *testing.T) {
	b := newJobBench(t, nil)
	for _, method := range []string{http.MethodOptions, http.MethodGet, http.MethodPost} {
		res := b.call(method, "/v1/jobs", "", "Origin: https://evil.example", "Access-Control-Request-Method: POST")
		for name := range res.Header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s: %s is %q", method, name, res.Header.Get(name))
			}
		}
		if method == http.MethodOptions && (res.StatusCode != 204 || res.Header.Get("Allow") != "GET, HEAD, OPTIONS, POST") {
			t.Errorf("OPTIONS: %d %q", res.StatusCode, res.Header.Get("Allow"))
		}
		if method == http.MethodGet && res.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("Cache-Control is %q", res.Header.Get("Cache-Control"))
		}
	}
}

func TestWithoutJobsThereIsNoV1(t *testing.T) {
	b := newBench(t, nil)
	for _, target := range []string{"/v1/jobs", "/v1/openapi.json"} {
		wantProblem(t, b.get(target), 404, "not-found")
	}
}

func TestTokenFiles(t *testing.T) {
	_, line := newToken(t, "a", false)
	_, read := newToken(t, "b", true)
	secret, _ := newToken(t, "c", false)
	cases := map[string]struct {
		file string
		n    int
		says string
	}{
		"comments and empty lines say nothing": {"# x\n\n  # y\n" + line + "\r\n\t" + read + " \n", 2, ""},
		"nothing is no token":                  {"", 0, ""},
		"a hash is needed":                     {"a\n", 0, "line 1:"},
		"it has to be a hash":                  {line + "\nb sha256:12\n", 0, "line 2: its second word"},
		"of that kind":                         {"a md5:" + strings.Repeat("0", 64), 0, "line 1: its second word"},
		"a third word is read":                 {line + " write", 0, "line 1:"},
		"names are plain":                      {strings.Replace(line, "a ", "a/b ", 1), 0, "line 1: its name"},
		"names stand once":                     {line + "\n" + line, 0, "line 2: the name a stands there twice"},
		"a token itself is not repeated":       {"a " + secret + "\n" + secret, 0, "line 1:"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			tokens, err := httpapi.ParseTokens([]byte(c.file))
			switch {
			case c.says == "" && (err != nil || len(tokens) != c.n):
				t.Errorf("got %d tokens, %v", len(tokens), err)
			case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), secret)):
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("one that may only ask says so", func(t *testing.T) {
		tokens, err := httpapi.ParseTokens([]byte(line + "\n" + read))
		if err != nil || tokens[0].ReadOnly || !tokens[1].ReadOnly || tokens[1].Name != "b" {
			t.Errorf("got %+v, %v", tokens, err)
		}
	})
	t.Run("a name has to be plain", func(t *testing.T) {
		if _, _, err := httpapi.NewToken("a b", false); err == nil {
			t.Error("it is taken")
		}
	})
}

func FuzzTokenFile(f *testing.F) {
	_, line, err := httpapi.NewToken("a", true)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(line))
	f.Add([]byte("# x\na sha256:00"))
	f.Fuzz(func(t *testing.T, file []byte) {
		tokens, err := httpapi.ParseTokens(file)
		if err == nil {
			for _, token := range tokens {
				if token.Name == "" {
					t.Error("a token has no name")
				}
			}
		}
	})
}
