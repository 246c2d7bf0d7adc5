package jobsclient

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// mostAnswer bounds one answer of a server; a list of 200 jobs with a megabyte
// of params each does not come whole, and nobody asks for that.
const mostAnswer = 32 << 20

// Remote asks a server.
type Remote struct {
	base   *url.URL
	token  string
	client *http.Client
}

// NewRemote is for a server's address, such as https://jobs.example.com, and a
// token of it ("" shows none).
func NewRemote(server, token string) (*Remote, error) {
	base, err := url.Parse(server)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" || base.User != nil {
		return nil, errors.New("it is no address of a server; write http:// or https:// and a host")
	}
	base.Path, base.RawQuery, base.Fragment = strings.TrimSuffix(base.Path, "/"), "", ""
	client := &http.Client{
		// A stream of progress lasts as long as its job, so only the header of
		// an answer has a time to come in.
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, ResponseHeaderTimeout: time.Minute, IdleConnTimeout: time.Minute},
		// Whoever is sent elsewhere would show the token there.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &Remote{base, token, client}, nil
}

// asked is a spec as the API takes it.
type asked struct {
	jobs.Spec
	Delay     float64 `json:"delay_seconds,omitempty"`
	WorkLimit float64 `json:"work_limit_seconds,omitempty"`
	WaitLimit float64 `json:"wait_limit_seconds,omitempty"`
}

// Enqueue asks for a job; a refusal is a *ProblemError.
func (r *Remote) Enqueue(ctx context.Context, spec jobs.Spec) (Entered, error) {
	var entered Entered
	body := asked{spec, spec.Delay.Seconds(), spec.WorkLimit.Seconds(), spec.WaitLimit.Seconds()}
	status, err := r.ask(ctx, http.MethodPost, "/v1/jobs", nil, body, &entered.Document)
	entered.Existing = status == http.StatusOK
	return entered, err
}

// Job tells all about one.
func (r *Remote) Job(ctx context.Context, id jobs.ID) (Detail, error) {
	var detail Detail
	_, err := r.ask(ctx, http.MethodGet, "/v1/jobs/"+id.String(), nil, nil, &detail)
	return detail, err
}

// Jobs lists.
func (r *Remote) Jobs(ctx context.Context, q Question) (Page, error) {
	query := url.Values{}
	for name, text := range map[string]string{
		"state": string(q.State), "queue": q.Queue, "type": q.Type, "tenant": q.Tenant, "cursor": q.Cursor,
	} {
		if text != "" {
			query.Set(name, text)
		}
	}
	if q.Limit > 0 {
		query.Set("limit", strconv.Itoa(q.Limit))
	}
	var page Page
	_, err := r.ask(ctx, http.MethodGet, "/v1/jobs", query, nil, &page)
	return page, err
}

// Cancel ends a job or asks its worker to.
func (r *Remote) Cancel(ctx context.Context, id jobs.ID, reason string) (jobs.Document, error) {
	var job jobs.Document
	_, err := r.ask(ctx, http.MethodPost, "/v1/jobs/"+id.String()+"/cancel", nil, map[string]string{"reason": reason}, &job)
	return job, err
}

// Retry queues a failed or cancelled job again.
func (r *Remote) Retry(ctx context.Context, id jobs.ID) (jobs.Document, error) {
	var job jobs.Document
	_, err := r.ask(ctx, http.MethodPost, "/v1/jobs/"+id.String()+"/retry", nil, nil, &job)
	return job, err
}

// Queues counts.
func (r *Remote) Queues(ctx context.Context) ([]jobs.QueueDocument, error) {
	var answer struct{ Queues []jobs.QueueDocument }
	_, err := r.ask(ctx, http.MethodGet, "/v1/queues", nil, nil, &answer)
	return answer.Queues, err
}

// Workers lists; with all, also those that are gone.
func (r *Remote) Workers(ctx context.Context, all bool) ([]jobs.WorkerRow, error) {
	query := url.Values{}
	if all {
		query.Set("all", "true")
	}
	var answer struct{ Workers []jobs.WorkerRow }
	_, err := r.ask(ctx, http.MethodGet, "/v1/workers", query, nil, &answer)
	return answer.Workers, err
}

// errNoDrain is what a server answers nobody: who may ask for jobs is not who
// runs the machines.
var errNoDrain = errors.New("workers are drained in the database only: name it by --database instead of --server")

// Drain is refused; see Local.
func (r *Remote) Drain(context.Context, string, time.Duration) error { return errNoDrain }

// ask sends one request and reads its answer.
func (r *Remote) ask(ctx context.Context, method, path string, query url.Values, body, answer any) (status int, err error) {
	response, err := r.send(ctx, method, path, query, body, "")
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer+1))
	if err != nil {
		return 0, r.away(err)
	}
	if len(content) > mostAnswer {
		return 0, fmt.Errorf("the answer of %s has more than %d bytes", r.base.Host, mostAnswer)
	}
	if err := json.Unmarshal(content, answer); err != nil {
		return 0, fmt.Errorf("%s does not answer as a server of jobs does: %w", r.base.Host, err)
	}
	return response.StatusCode, nil
}

// send gives the answer of a request that was not refused.
func (r *Remote) send(ctx context.Context, method, path string, query url.Values, body any, lastEvent string) (*http.Response, error) {
	target := r.base.JoinPath(path)
	target.RawQuery = query.Encode()
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("write request: %w", err)
		}
		content = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, target.String(), content)
	if err != nil {
		return nil, fmt.Errorf("write request: %w", err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if r.token != "" {
		request.Header.Set("Authorization", "Bearer "+r.token)
	}
	if lastEvent != "" {
		request.Header.Set("Last-Event-Id", lastEvent)
	}
	response, err := r.client.Do(request)
	if err != nil {
		return nil, r.away(err)
	}
	if response.StatusCode/100 != 2 {
		defer func() { _ = response.Body.Close() }()
		return nil, readProblem(response, r.token != "")
	}
	return response, nil
}

// away is the fault of a server that does not answer at all.
func (r *Remote) away(err error) error {
	if fault, ok := errors.AsType[*url.Error](err); ok {
		err = fault.Err // it repeats the address, which is told already
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &awayError{r.base.Host, err}
}

// awayError is a server that does not answer at all, or in a way that says nothing.
type awayError struct {
	host  string
	cause error
}

// Error says what to look at: a server that speaks in another way does run.
func (a *awayError) Error() string {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](a.cause); ok {
		return fmt.Sprintf("%s shows a certificate that is not trusted here; SSL_CERT_FILE may name the one to trust, which up keeps in the file certificate.pem of its data folder: %v", a.host, a.cause)
	}
	if errors.Is(a.cause, http.ErrSchemeMismatch) {
		return fmt.Sprintf("%s does not speak HTTPS; name it by http://", a.host)
	}
	return fmt.Sprintf("%s does not answer; does the server run, and is this its port? %v", a.host, a.cause)
}

// Unwrap makes it the same to callers as a database that is away.
func (a *awayError) Unwrap() []error { return []error{jobs.ErrUnavailable, a.cause} }
