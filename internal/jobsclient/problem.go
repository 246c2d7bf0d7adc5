package jobsclient

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/spillway-media/spillway/jobs"
)

// mostProblem bounds what is read of a refusal.
const mostProblem = 1 << 20

// noPlace is the code of a server that has nothing at the place that was asked,
// rather than no such job.
const noPlace = "not-found"

// ProblemError is a server's refusal, as RFC 9457 has it.
type ProblemError struct {
	Status    int    `json:"status"`
	Title     string `json:"title"`
	Detail    string `json:"detail"`
	Code      string `json:"code"`
	Parameter string `json:"parameter"`
	RequestID string `json:"request_id"`
	// Errors are the faults of a request that has several.
	Errors []Fault `json:"errors"`
	// hint says what to do about it.
	hint string
}

// Fault is one field that is wrong.
type Fault struct {
	Field  string `json:"parameter"`
	Detail string `json:"detail"`
}

// Error tells each fault on a line of its own.
func (p *ProblemError) Error() string {
	var lines []string
	for _, fault := range p.Errors {
		lines = append(lines, strings.TrimPrefix(fault.Field+": "+fault.Detail, ": "))
	}
	if len(lines) == 0 {
		line := cmp.Or(p.Detail, p.Title, http.StatusText(p.Status))
		if p.Parameter != "" && !strings.HasPrefix(line, p.Parameter) {
			line = p.Parameter + ": " + line
		}
		lines = append(lines, line)
	}
	if p.hint != "" {
		lines = append(lines, p.hint)
	}
	if p.Status >= http.StatusInternalServerError && p.RequestID != "" {
		lines = append(lines, "the server's log has it under the request id "+p.RequestID)
	}
	return strings.Join(lines, "\n")
}

// Is makes a refusal comparable with what a store answers.
func (p *ProblemError) Is(target error) bool {
	switch target {
	case jobs.ErrNotFound:
		return p.Status == http.StatusNotFound
	case jobs.ErrState:
		return p.Status == http.StatusConflict
	case jobs.ErrUnavailable:
		return p.Status == http.StatusServiceUnavailable || p.Status == http.StatusBadGateway || p.Status == http.StatusGatewayTimeout
	}
	return false
}

// readProblem reads a refusal; one that is no problem document is told by its status.
func readProblem(response *http.Response, shown bool) error {
	p := &ProblemError{}
	media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if media == "application/problem+json" {
		content, err := io.ReadAll(io.LimitReader(response.Body, mostProblem))
		if err == nil {
			err = json.Unmarshal(content, p)
		}
		if err != nil {
			p = &ProblemError{}
		}
	}
	p.Status = response.StatusCode
	p.Title = cmp.Or(p.Title, fmt.Sprintf("%s answers %s", response.Request.URL.Host, response.Status))
	switch {
	case p.Status == http.StatusUnauthorized && !shown:
		p.hint = "give a token by --token-file or SPILLWAY_API_TOKEN; up keeps one in the file api-token of its data folder"
	case p.Status == http.StatusUnauthorized:
		p.hint = "up knows the one in the file api-token of its data folder; serve reads its api-token-file when it starts"
	case p.Status == http.StatusNotFound && (media != "application/problem+json" || p.Code == noPlace), p.Status == http.StatusMethodNotAllowed:
		p.hint = "is it a Spillway server that has jobs? serve has them when database is set"
	case p.Status == http.StatusBadRequest && media == "" && response.Request.URL.Scheme == "http":
		p.hint = "does it speak HTTPS? then name it by https://" // so net/http answers there
	case p.Status/100 == 3:
		p.hint = "it sends elsewhere; name the server by its own address"
	}
	return p
}

// Faulty says whether the request itself was at fault, and would be again.
func (p *ProblemError) Faulty() bool {
	return p.Status == http.StatusBadRequest || p.Status == http.StatusUnprocessableEntity
}
