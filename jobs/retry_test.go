package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

func TestAfterFailure(t *testing.T) {
	broken := &jobs.Failure{Code: "decode-failed", Reason: "The picture is broken.", Permanent: true, Cause: errors.New("libsecret")}
	busy := &jobs.Failure{Code: "overloaded", Reason: "No room.", Release: 3 * time.Second}
	tests := []struct {
		name       string
		attempts   int
		err, cause error
		want       jobs.Outcome
	}{
		{"a failure with attempts left is tried again after a wait", 0, errors.New("oops"), nil,
			jobs.Outcome{State: jobs.Queued, Attempt: jobs.AttemptFailed, Delay: 10 * time.Second, Code: jobs.CodeFailed, Reason: "The cause is in the worker's log."}},
		{"the last attempt makes a dead letter", 2, errors.New("oops"), nil,
			jobs.Outcome{State: jobs.Failed, Attempt: jobs.AttemptFailed, Code: jobs.CodeFailed, Reason: "The cause is in the worker's log."}},
		{"a permanent failure is not tried again", 0, fmt.Errorf("derive: %w", broken), nil,
			jobs.Outcome{State: jobs.Failed, Attempt: jobs.AttemptFailed, Code: "decode-failed", Reason: "The picture is broken."}},
		{"a want of capacity burns nothing, even on the last attempt", 2, busy, nil,
			jobs.Outcome{State: jobs.Queued, Attempt: jobs.AttemptReleased, Delay: 3 * time.Second, Code: "overloaded", Reason: "No room."}},
		{"a cancel wins over what the handler says", 0, broken, jobs.ErrCancelled,
			jobs.Outcome{State: jobs.Cancelled, Attempt: jobs.AttemptCancelled, Code: jobs.CodeCancelled, Reason: "The job was cancelled while it ran."}},
		{"a drain gives the job to another at once", 2, context.Canceled, fmt.Errorf("spot notice: %w", jobs.ErrDraining),
			jobs.Outcome{State: jobs.Queued, Attempt: jobs.AttemptReleased, Code: jobs.CodeReleased, Reason: "The worker was told to stop; another goes on."}},
		{"the time limit counts as a failure and says how long it was", 0, context.Canceled, jobs.ErrWorkLimit,
			jobs.Outcome{State: jobs.Queued, Attempt: jobs.AttemptFailed, Delay: 10 * time.Second, Code: jobs.CodeWorkLimit, Reason: "The attempt took longer than 1m0s."}},
		{"a timeout of something waited for is no work limit", 0, context.DeadlineExceeded, nil,
			jobs.Outcome{State: jobs.Queued, Attempt: jobs.AttemptFailed, Delay: 10 * time.Second, Code: jobs.CodeFailed, Reason: "Something that the job waited for took too long."}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			job := &jobs.Job{Attempts: test.attempts, Spec: jobs.Spec{MaxAttempts: 3, WorkLimit: time.Minute}}
			got := jobs.AfterFailure(job, test.err, test.cause, 0.5)
			if fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
			if err := got.Validate(); err != nil {
				t.Error(err)
			}
			if strings.Contains(got.Reason, "libsecret") {
				t.Error("the reason tells a cause that is for the log only")
			}
		})
	}
}

func TestAfterLossPoisonsTheThirdInARow(t *testing.T) {
	for lost, want := range []jobs.State{jobs.Queued, jobs.Queued, jobs.Failed, jobs.Failed} {
		got := jobs.AfterLoss(&jobs.Job{Lost: lost})
		if got.State != want || got.Attempt != jobs.AttemptLost || got.Delay != 0 || got.Validate() != nil {
			t.Errorf("after %d lost leases another makes it %+v, want %s", lost, got, want)
		}
	}
	if code := jobs.AfterLoss(&jobs.Job{Lost: 2}).Code; code != jobs.CodePoisoned {
		t.Errorf("code = %q", code)
	}
}

func TestBackoffDoublesUpToAnHourAndIsSpread(t *testing.T) {
	tests := []struct {
		n         int
		low, high time.Duration
	}{
		{1, 7500 * time.Millisecond, 12500 * time.Millisecond},
		{2, 15 * time.Second, 25 * time.Second},
		{5, 2 * time.Minute, 200 * time.Second},
		{10, 45 * time.Minute, 75 * time.Minute},
		{1000, 45 * time.Minute, 75 * time.Minute},
	}
	for _, test := range tests {
		if low := jobs.Backoff(test.n, 0); low != test.low {
			t.Errorf("shortest wait after failure %d is %s, want %s", test.n, low, test.low)
		}
		if high := jobs.Backoff(test.n, 1); high != test.high {
			t.Errorf("longest wait after failure %d is %s, want %s", test.n, high, test.high)
		}
	}
}

func TestOnlyPossibleOutcomesAreValid(t *testing.T) {
	possible := map[string]bool{
		"succeeded succeeded": true, "failed failed": true, "failed lost": true, "cancelled cancelled": true,
		"cancelled lost": true, "queued failed": true, "queued released": true, "queued lost": true,
	}
	for _, state := range []jobs.State{"", jobs.Queued, jobs.Running, jobs.Succeeded, jobs.Failed, jobs.Cancelled} {
		for _, attempt := range []jobs.AttemptStatus{"", jobs.AttemptRunning, jobs.AttemptSucceeded, jobs.AttemptFailed, jobs.AttemptCancelled, jobs.AttemptReleased, jobs.AttemptLost} {
			err := jobs.Outcome{State: state, Attempt: attempt}.Validate()
			if (err == nil) != possible[string(state)+" "+string(attempt)] {
				t.Errorf("a running job that becomes %q by %q: %v", state, attempt, err)
			}
		}
	}
}

func TestCountersKeepTheBudgetsApart(t *testing.T) {
	tests := []struct {
		attempt        jobs.AttemptStatus
		attempts, lost int
	}{
		{jobs.AttemptFailed, 3, 0}, {jobs.AttemptLost, 2, 2}, {jobs.AttemptReleased, 2, 0},
		{jobs.AttemptSucceeded, 2, 0}, {jobs.AttemptCancelled, 2, 0},
	}
	for _, test := range tests {
		attempts, lost := jobs.Outcome{Attempt: test.attempt}.Counters(2, 1)
		if attempts != test.attempts || lost != test.lost {
			t.Errorf("%s makes 2 attempts and 1 loss %d and %d, want %d and %d", test.attempt, attempts, lost, test.attempts, test.lost)
		}
	}
}
