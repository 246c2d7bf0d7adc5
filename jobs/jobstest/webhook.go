package jobstest

import (
	"context"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// notice is an entry of the outbox; its job has the address.
type notice struct {
	due      time.Time
	attempts int
}

// DueWebhooks is of jobs.WebhookStore.
func (s *Store) DueWebhooks(ctx context.Context, limit int, hold time.Duration) ([]jobs.Webhook, error) {
	return call(ctx, s, "DueWebhooks", func(now time.Time) ([]jobs.Webhook, error) {
		var due []jobs.Webhook
		for _, r := range s.oldest(limit, func(r *row) bool { return r.notice != nil && !r.notice.due.After(now) }) {
			r.notice.due = now.Add(hold)
			due = append(due, jobs.Webhook{JobID: r.job.ID, URL: r.job.Webhook, Attempts: r.notice.attempts, Until: r.notice.due})
		}
		return due, nil
	})
}

// WebhookDone is of jobs.WebhookStore. The failure of a notice that was given
// up is shown nowhere, so it is not kept here.
func (s *Store) WebhookDone(ctx context.Context, w jobs.Webhook, _ string, again time.Duration) error {
	return do(ctx, s, "WebhookDone", func(now time.Time) error {
		r := s.rows[w.JobID]
		switch {
		case r == nil || r.notice == nil || !r.notice.due.Equal(w.Until):
		case again > 0:
			r.notice.due = now.Add(again)
			r.notice.attempts++
		default:
			r.notice = nil
		}
		return nil
	})
}
