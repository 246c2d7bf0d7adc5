package httpapi

import (
	"errors"
	"net/http"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/jobs"
)

// enteredDocument is one job of a batch.
type enteredDocument struct {
	// Existing is true when an earlier job has the key of this one.
	Existing bool `json:"existing"`
	// Code is idempotency-key-reused when that one is another job.
	Code media.Code    `json:"code,omitempty"`
	Job  jobs.Document `json:"job"`
}

// enqueue takes one job or a batch.
func (a *jobsAPI) enqueue(x *exchange, _ string) error {
	text, err := a.readDocument(x)
	if err != nil {
		return err
	}
	specs, batch, err := parseJobs(text)
	if err != nil {
		return err
	}
	if err := keyHeader(x.r.Header.Values("Idempotency-Key"), specs, batch); err != nil {
		return err
	}
	ctx, cancel := x.ask()
	defer cancel()
	entered, err := a.cfg.Client.Enqueue(ctx, specs...)
	if err != nil {
		return jobFault(err)
	}
	if batch {
		return a.answerBatch(x, specs, entered)
	}
	return a.answerEntered(x, specs[0], entered[0])
}

// answerEntered tells of a single job: 201 and where it is, or 200 when it was
// there before.
func (a *jobsAPI) answerEntered(x *exchange, spec jobs.Spec, entered jobs.Enqueued) error {
	job := &entered.Job
	if entered.Existing && !sameJob(spec, job) {
		return media.Errorf(codeKeyReused,
			"Job %s has this idempotency key and another type, input or params. Take a new key for another job.", job.ID).About("idempotency_key")
	}
	x.w.Header().Set("Location", "/v1/jobs/"+job.ID.String())
	status := http.StatusCreated
	if entered.Existing {
		status = http.StatusOK
	}
	return a.writeJSON(x, status, job.Document())
}

// answerBatch tells of each job by itself: those beside one whose key was used
// for something else are in all the same.
func (a *jobsAPI) answerBatch(x *exchange, specs []jobs.Spec, entered []jobs.Enqueued) error {
	status := http.StatusOK
	list := make([]enteredDocument, len(entered))
	for i, e := range entered {
		list[i] = enteredDocument{Existing: e.Existing, Job: e.Job.Document()}
		if !e.Existing {
			status = http.StatusCreated
		} else if !sameJob(specs[i], &e.Job) {
			list[i].Code = codeKeyReused
		}
	}
	return a.writeJSON(x, status, map[string]any{"jobs": list})
}

// cancelJob ends a job or asks its worker to.
func (a *jobsAPI) cancelJob(x *exchange, variable string) error {
	id, err := parseID(variable)
	if err != nil {
		return err
	}
	reason, err := a.readReason(x)
	if err != nil {
		return err
	}
	ctx, cancel := x.ask()
	defer cancel()
	job, err := a.cfg.Client.Cancel(ctx, id, reason)
	if err != nil {
		return a.controlFault(x, id, err, "cancelled: only a queued or running job can be")
	}
	return a.writeJSON(x, http.StatusOK, job.Document())
}

// retryJob queues a job anew that failed or was cancelled.
func (a *jobsAPI) retryJob(x *exchange, variable string) error {
	id, err := parseID(variable)
	if err != nil {
		return err
	}
	text, err := a.readDocument(x)
	if err != nil {
		return err
	}
	if err := readOptions(text, map[string]any{}); err != nil {
		return err
	}
	ctx, cancel := x.ask()
	defer cancel()
	job, err := a.cfg.Client.Retry(ctx, id)
	if err != nil {
		return a.controlFault(x, id, err, "tried again: only a failed or cancelled job can be, and none whose unique key another has meanwhile")
	}
	return a.writeJSON(x, http.StatusOK, job.Document())
}

// controlFault says in which state a job is that does not allow something.
func (a *jobsAPI) controlFault(x *exchange, id jobs.ID, err error, what string) error {
	if errors.Is(err, jobs.ErrState) {
		ctx, cancel := x.ask()
		defer cancel()
		if job, readErr := a.cfg.Store.Job(ctx, id); readErr == nil {
			return media.Wrap(codeJobState, err, "Job %s is %s and cannot be %s.", id, job.State, what)
		}
	}
	return jobFault(err)
}

// longestCause bounds what somebody may say about a cancellation.
const longestCause = 500

// readReason reads {"reason": "..."}; there need be none.
func (a *jobsAPI) readReason(x *exchange) (string, error) {
	text, err := a.readDocument(x)
	if err != nil {
		return "", err
	}
	reason := ""
	if err := readOptions(text, map[string]any{"reason": &reason}); err != nil {
		return "", err
	}
	if len(reason) > longestCause || !plainText(reason) {
		return "", allFaults(codeInvalidBody, []fieldFault{{"reason", "it is not a line of printable text of at most 500 bytes."}})
	}
	if reason == "" {
		reason = "Cancelled by " + x.token + "."
	}
	return reason, nil
}
