package jobsclient_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/internal/jobsclient"
	"github.com/spillway-media/spillway/jobs"
)

func TestAnAddressIsThatOfAServer(t *testing.T) {
	for _, address := range []string{"", "localhost:8080", "ftp://host", "https://", "https://user:pass@host", "http://[half"} {
		t.Run("not "+address, func(t *testing.T) {
			if _, err := jobsclient.NewRemote(address, ""); err == nil || strings.Contains(err.Error(), "pass@") {
				t.Errorf("error = %v", err)
			}
		})
	}
}

func TestRefusalsSayWhatToDo(t *testing.T) {
	h := build(t)
	tests := []struct {
		name, token, want string
	}{
		{"without a token", "", "SPILLWAY_API_TOKEN"},
		{"with a wrong one", "spillway_wrong", "serve reads its api-token-file when it starts"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := h.remote(t, test.token).Queues(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "spillway_wrong") {
				t.Errorf("error = %v, want %q", err, test.want)
			}
		})
	}
}

// answering is a server of nothing but one answer.
func answering(t *testing.T, answer http.HandlerFunc) *jobsclient.Remote {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	r, err := jobsclient.NewRemote(server.URL, "spillway_token")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestOtherServersAreRecognized(t *testing.T) {
	tests := []struct {
		name   string
		answer http.HandlerFunc
		want   string
	}{
		{"one that knows no jobs", http.NotFound, "is it a Spillway server that has jobs?"},
		{"one of Spillway's that has none", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(w, `{"detail":"This server answers /resize.","code":"not-found"}`)
		}, "serve has them when database is set"},
		{"one that answers pages", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "<html>") }, "does not answer as a server of jobs does"},
		{"one that answers a broken problem", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusTeapot)
			_, _ = fmt.Fprint(w, "{")
		}, "418"},
		{"one that fails says where to look", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = fmt.Fprint(w, `{"title":"Broken","detail":"It broke.","request_id":"r1"}`)
		}, "It broke.\nthe server's log has it under the request id r1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := answering(t, test.answer).Queues(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want %q", err, test.want)
			}
		})
	}
}

func TestWhatStandsInTheWayOfTLSIsTold(t *testing.T) {
	start := func(begin func(*httptest.Server)) string {
		server := httptest.NewUnstartedServer(http.NotFoundHandler())
		server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
		begin(server)
		t.Cleanup(server.Close)
		return server.Listener.Addr().String()
	}
	plain, secure := start((*httptest.Server).Start), start((*httptest.Server).StartTLS)
	tests := []struct{ name, address, want string }{
		{"a certificate of its own", "https://" + secure, secure + " shows a certificate that is not trusted here; SSL_CERT_FILE"},
		{"a server without TLS", "https://" + plain, plain + " does not speak HTTPS; name it by http://"},
		{"a server with TLS", "http://" + secure, "does it speak HTTPS? then name it by https://"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, err := jobsclient.NewRemote(test.address, "")
			if err == nil {
				_, err = r.Queues(t.Context())
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "is this its port?") {
				t.Errorf("error = %v, want %q", err, test.want)
			}
		})
	}
}

func TestTheTokenIsShownToNobodyElse(t *testing.T) {
	var shown atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		shown.Store(r.Header.Get("Authorization") != "")
	}))
	defer other.Close()
	_, err := answering(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}).Queues(t.Context())
	if err == nil || !strings.Contains(err.Error(), "it sends elsewhere") || shown.Load() {
		t.Errorf("error = %v, token shown %v", err, shown.Load())
	}
}

func TestAStreamThatBreaksIsTakenUpWhereItWas(t *testing.T) {
	var asked atomic.Int32
	r := answering(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		switch n, last := asked.Add(1), r.Header.Get("Last-Event-ID"); {
		case n == 1 && last == "":
			_, _ = fmt.Fprint(w, ": hello\n\nid: 7\nevent: state\ndata: {\"id\":\"1\",\"state\":\"running\",\ndata: \"version\":7}\n\nid: 8\nda")
		case n == 2 && last == "7":
			w.WriteHeader(http.StatusServiceUnavailable)
		case n == 3 && last == "7":
			_, _ = fmt.Fprint(w, "id: 8\r\ndata: {\"id\":\"1\",\"state\":\"succeeded\",\"version\":8}\r\n\r\n")
		default:
			t.Errorf("question %d after event %q", n, last)
		}
	})
	var versions []int64
	job, err := r.Follow(t.Context(), 1, func(job jobs.Document) { versions = append(versions, job.Version) })
	if err != nil || job.State != jobs.Succeeded || fmt.Sprint(versions) != "[7 8]" {
		t.Errorf("ended as %+v, %v; versions %v", job, err, versions)
	}
}

func TestAStreamOfSomethingElseEndsTheWatch(t *testing.T) {
	r := answering(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "<html>") })
	_, err := r.Follow(t.Context(), 1, func(jobs.Document) {})
	if err == nil || !strings.Contains(err.Error(), "does not tell of jobs as a server does") {
		t.Errorf("error = %v", err)
	}
}

// A job may stand still for longer than proxies leave a stream open.
func TestAStreamThatIsCutAgainAndAgainIsTakenUpAtLeisure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const cuts = 200
		asked := 0
		r := jobsclient.NewRemoteOver(roundTrip(func(*http.Request) (*http.Response, error) {
			text := ": still here\n\n"
			if asked++; asked > cuts {
				text = "id: 2\ndata: {\"id\":\"1\",\"state\":\"succeeded\",\"version\":2}\n\n"
			}
			return &http.Response{
				StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
				Body: io.NopCloser(strings.NewReader(text)),
			}, nil
		}))
		began := time.Now()
		job, err := r.Follow(t.Context(), 1, func(jobs.Document) {})
		if err != nil || job.State != jobs.Succeeded || asked != cuts+1 {
			t.Errorf("after %d questions it is %+v, %v", asked, job, err)
		}
		if took := time.Since(began); took < cuts*time.Second {
			t.Errorf("%d questions were asked within %s", asked, took)
		}
	})
}

// roundTrip is a transport of one function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
