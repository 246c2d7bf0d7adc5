package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spillway-media/spillway/internal/app"
	"github.com/spillway-media/spillway/internal/app/settings"
	"github.com/spillway-media/spillway/internal/jobsclient"
	"github.com/spillway-media/spillway/jobs"
)

// desk is where jobs are asked for and asked about: a server or a database.
type desk interface {
	controls
	questions
}

// controls change something.
type controls interface {
	Enqueue(ctx context.Context, spec jobs.Spec) (jobsclient.Entered, error)
	Cancel(ctx context.Context, id jobs.ID, reason string) (jobs.Document, error)
	Retry(ctx context.Context, id jobs.ID) (jobs.Document, error)
	Drain(ctx context.Context, workerID string, within time.Duration) error
}

// questions change nothing.
type questions interface {
	Job(ctx context.Context, id jobs.ID) (jobsclient.Detail, error)
	Jobs(ctx context.Context, q jobsclient.Question) (jobsclient.Page, error)
	Follow(ctx context.Context, id jobs.ID, watch jobsclient.Watcher) (jobs.Document, error)
	Queues(ctx context.Context) ([]jobs.QueueDocument, error)
	Workers(ctx context.Context, all bool) ([]jobs.WorkerRow, error)
}

// where is the flags that choose the desk.
type where struct {
	layers
	Server    string `name:"server" placeholder:"URL" help:"Ask this server; otherwise the database is opened, that of --database or the file jobs.db in --data."`
	TokenFile string `name:"token-file" placeholder:"FILE" help:"File whose first line is the token for --server; otherwise SPILLWAY_API_TOKEN. That of up is api-token in its data folder."`

	Storage settings.Storage `embed:"" group:"Files"`
	Durable settings.Durable `embed:"" group:"Jobs"`
}

// open opens the desk. With fresh, a database that is not there is made; to
// look at one that is not there is a slip of the folder's name.
func (w *where) open(ctx context.Context, s *session, fresh bool) (d desk, end func(), err error) {
	if w.Server != "" {
		token, err := w.token()
		if err != nil {
			return nil, nil, err
		}
		remote, err := jobsclient.NewRemote(w.Server, token)
		if err != nil {
			return nil, nil, usagef("--server: %w", err)
		}
		return remote, func() {}, nil
	}
	if w.TokenFile != "" {
		return nil, nil, usagef("--token-file: a token is for a server; give --server, too")
	}
	config, err := w.config()
	if err != nil {
		return nil, nil, err
	}
	if file := config.SQLiteFile(); file != "" && !fresh {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("there are no jobs in %q; name another place by --database, --data or --server", file)
		}
	}
	local, err := app.OpenJobs(ctx, config, quietLog(config, s))
	if err != nil {
		return nil, nil, err
	}
	return local, func() { _ = local.Close() }, nil
}

// quietLog tells of what is wrong only: a command has its own words for the rest.
func quietLog(config settings.Config, s *session) *slog.Logger {
	if config.LogLevel == "info" {
		config.LogLevel = "warn"
	}
	return app.NewLogger(config.Observing, s.Stderr, terminal(s.Stderr))
}

// config is the settings with these flags laid over, and a database in any case.
func (w *where) config() (settings.Config, error) {
	config := w.loaded.Config()
	config.Storage, config.Durable = w.Storage, w.Durable
	if config.Database == "" {
		config.Database = config.OwnDatabase()
	}
	return config, w.locate(config.Validate())
}

// outputs says where the keys of a result lead to; empty where that cannot be
// told from here, because the worker of a database may keep them elsewhere.
func (w *where) outputs() string {
	if w.Server != "" {
		return "to be had with a token at " + strings.TrimRight(w.Server, "/") + "/v1/outputs/KEY"
	}
	config := w.loaded.Config()
	config.Storage, config.Durable = w.Storage, w.Durable
	if w.Durable.Blob == "" && w.Durable.Database != "" {
		return ""
	}
	return "they lie in " + config.Blobs()
}

// warnAlone tells when nobody is there to do a job: it may be in the database
// of another folder than the one that is worked on. That the job is
// safe has been told already.
func (w *where) warnAlone(ctx context.Context, s *session, d desk, job jobs.Document) error {
	if job.State != jobs.Queued || served(ctx, d, job.Queue) {
		return nil
	}
	of := ""
	if config, err := w.config(); err == nil && w.Server == "" && config.SQLiteFile() != "" {
		of = fmt.Sprintf(" of %q", config.SQLiteFile())
	}
	_, err := fmt.Fprintf(s.Stderr, "spillway: no worker%s serves the queue %s now; the job waits until one does, such as spillway up or spillway work\n", of, shown(job.Queue))
	return err
}

// served tells whether a worker takes jobs of a queue, and that one does where
// nobody knows.
func served(ctx context.Context, d desk, queue string) bool {
	workers, err := d.Workers(ctx, false)
	return err != nil || slices.ContainsFunc(workers, func(row jobs.WorkerRow) bool {
		return row.Status == jobs.WorkerActive && !row.Stale && slices.Contains(row.Queues, queue)
	})
}

// token is what is shown to a server; empty when none is given.
func (w *where) token() (string, error) {
	if w.TokenFile == "" {
		return w.loaded.Config().APIToken, nil
	}
	content, err := os.ReadFile(w.TokenFile)
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err // the path is told already
		}
		return "", usagef("--token-file: %q cannot be read: %w", w.TokenFile, err)
	}
	token := firstLine(string(content))
	if token == "" || strings.ContainsAny(token, " \t") {
		return "", usagef("--token-file: the first line of %q is no token", w.TokenFile)
	}
	return token, nil
}
