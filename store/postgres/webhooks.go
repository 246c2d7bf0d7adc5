package postgres

import (
	"context"
	_ "embed" // the statements
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-media/spillway/jobs"
)

//go:embed sql/due_webhooks.sql
var dueWebhooksSQL string

//go:embed sql/webhook_done.sql
var webhookDoneSQL string

// DueWebhooks implements jobs.WebhookStore.
func (s *Store) DueWebhooks(ctx context.Context, limit int, hold time.Duration) ([]jobs.Webhook, error) {
	read := func(row pgx.CollectableRow) (jobs.Webhook, error) {
		var w jobs.Webhook
		err := row.Scan(&w.JobID, &w.URL, &w.Attempts, &w.Until)
		return w, err
	}
	return list(ctx, s, "take due webhooks", read, dueWebhooksSQL, pgx.NamedArgs{"most": limit, "hold": hold.Microseconds()})
}

// WebhookDone implements jobs.WebhookStore. A notice whose job was pruned or
// begun anew meanwhile is none any more, which is no error.
func (s *Store) WebhookDone(ctx context.Context, w jobs.Webhook, failure string, again time.Duration) error {
	_, err := s.exec(ctx, "end webhook", webhookDoneSQL, pgx.NamedArgs{
		"id": w.JobID, "until": w.Until, "failure": clean(failure), "again": again.Microseconds(),
	})
	return err
}
