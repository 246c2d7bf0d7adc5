package sqlite

import (
	"context"
	"time"

	"github.com/spillway-media/spillway/jobs"
)

// DueWebhooks takes notices and puts each off by hold.
func (s *Store) DueWebhooks(ctx context.Context, limit int, hold time.Duration) ([]jobs.Webhook, error) {
	return write(ctx, s, limit, func(ctx context.Context, t *tx) ([]jobs.Webhook, error) {
		args := []any{t.now, t.now + hold.Milliseconds(), limit}
		return all(ctx, t.statements, "due_webhooks", args, func(row scanner) (w jobs.Webhook, err error) {
			var until moment
			err = row.Scan(&w.JobID, &w.URL, &w.Attempts, &until)
			w.Until = until.Time
			return w, err
		})
	})
}

// WebhookDone ends a notice or puts it off. One that is gone, because its job was
// retried or pruned meanwhile, needs no end.
func (s *Store) WebhookDone(ctx context.Context, w jobs.Webhook, failure string, again time.Duration) error {
	until := w.Until.UnixMilli()
	_, err := write(ctx, s, 1, func(ctx context.Context, t *tx) (int64, error) {
		switch {
		case again > 0:
			return t.exec(ctx, "webhook_again", w.JobID, until, failure, t.now+again.Milliseconds())
		case failure != "":
			return t.exec(ctx, "webhook_given_up", w.JobID, until, failure)
		default:
			return t.exec(ctx, "webhook_sent", w.JobID, until)
		}
	})
	return err
}
