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
			return w, row.Scan(&w.JobID, &w.URL, &w.Attempts)
		})
	})
}

// WebhookDone ends a notice or puts it off. One that is gone, because its job was
// retried or pruned meanwhile, needs no end.
func (s *Store) WebhookDone(ctx context.Context, id jobs.ID, failure string, again time.Duration) error {
	_, err := write(ctx, s, 1, func(ctx context.Context, t *tx) (int64, error) {
		switch {
		case again > 0:
			return t.exec(ctx, "webhook_again", id, failure, t.now+again.Milliseconds())
		case failure != "":
			return t.exec(ctx, "webhook_given_up", id, failure)
		default:
			return t.exec(ctx, "webhook_sent", id)
		}
	})
	return err
}
