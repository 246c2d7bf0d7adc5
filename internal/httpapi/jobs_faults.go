package httpapi

import (
	"context"
	"errors"
	"time"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/jobs"
)

// storePause is when who was refused for want of the store should come back.
const storePause = 5 * time.Second

// fieldFault is one of several things that are wrong with a request.
type fieldFault struct {
	Parameter string `json:"parameter"`
	Detail    string `json:"detail"`
}

// faultsError are all faults of a document; the first leads.
type faultsError struct {
	lead *media.Error
	all  []fieldFault
}

// Error implements error.
func (m *faultsError) Error() string { return m.lead.Error() }

// Unwrap gives the first fault to the table of statuses.
func (m *faultsError) Unwrap() error { return m.lead }

// mostFaults bounds an answer: a thousand jobs may all be wrong.
const mostFaults = 100

// allFaults is nil when there are none.
func allFaults(code media.Code, all []fieldFault) error {
	if len(all) == 0 {
		return nil
	}
	all = all[:min(len(all), mostFaults)]
	lead := media.Errorf(code, "%s: %s", all[0].Parameter, all[0].Detail).About(all[0].Parameter)
	if all[0].Parameter == "" {
		lead.Detail = all[0].Detail
	}
	return &faultsError{lead, all}
}

// jobFault tells a fault of the client or store of jobs in the words of HTTP.
func jobFault(err error) error {
	if faults := jobs.SpecErrors(err); len(faults) > 0 {
		all := make([]fieldFault, len(faults))
		for i, fault := range faults {
			all[i] = fieldFault{fault.Field, fault.Detail}
		}
		return allFaults(codeInvalidJob, all)
	}
	switch {
	case errors.Is(err, jobs.ErrNotFound):
		return media.Wrap(codeNoJob, err, "There is no such job, or it is over and was removed.")
	case errors.Is(err, jobs.ErrState):
		return media.Wrap(codeJobState, err, "The job's state does not allow it.")
	case errors.Is(err, jobs.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return &media.Error{
			Code: codeStore, Detail: "The store of jobs does not answer. Ask again; with an idempotency key nothing is done twice.",
			RetryAfter: storePause, Cause: err,
		}
	}
	return err
}

// parseID reads an id; what can be none is the id of no job.
func parseID(text string) (jobs.ID, error) {
	id, err := jobs.ParseID(text)
	if err != nil {
		return 0, media.Wrap(codeNoJob, err, "%.60q is not the id of a job.", text)
	}
	return id, nil
}
