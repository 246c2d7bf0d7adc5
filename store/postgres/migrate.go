package postgres

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrations embed.FS

// versionTable holds what was migrated. It has a name of its own, because the
// database may be another program's as well.
const versionTable = "spillway_migrations"

// migrationLock is the advisory lock that one migration at a time holds; others
// ask for it every second, for ten minutes.
const migrationLock = 5_191_712_035

// Migrate brings a database to what this release needs. Of several at a time
// one works and the others wait for it. The versions are those before and after.
func Migrate(ctx context.Context, dsn string) (from, to int64, err error) {
	config, err := parse(dsn)
	if err != nil {
		return 0, 0, err
	}
	// An index over millions of rows takes longer than a question may.
	config.ConnConfig.RuntimeParams["statement_timeout"] = "0"
	config.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = "0"
	provider, done, err := migrator(config.ConnConfig)
	if err != nil {
		return 0, 0, err
	}
	defer done()
	from, err = provider.GetDBVersion(ctx)
	if err != nil {
		return 0, 0, fault("read version of the database", err)
	}
	if newest := latest(provider); from > newest {
		return from, from, newer(from, newest)
	}
	results, err := provider.Up(ctx)
	if err != nil {
		return from, from, fault("migrate database", err)
	}
	to = from
	for _, r := range results {
		to = max(to, r.Source.Version)
	}
	// Who waited for another finds everything done.
	if now, err := provider.GetDBVersion(ctx); err == nil {
		to = max(to, now)
	}
	return from, to, nil
}

func migrator(config *pgx.ConnConfig) (provider *goose.Provider, done func(), err error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, nil, fmt.Errorf("find migrations: %w", err)
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockID(migrationLock), lock.WithLockTimeout(1, 600))
	if err != nil {
		return nil, nil, fmt.Errorf("make lock of migrations: %w", err)
	}
	db := stdlib.OpenDB(*config)
	provider, err = goose.NewProvider(goose.DialectPostgres, db, files,
		goose.WithSessionLocker(locker), goose.WithTableName(versionTable), goose.WithSlog(slog.New(slog.DiscardHandler)))
	if err != nil {
		_ = db.Close()
		return nil, nil, fmt.Errorf("read migrations: %w", err)
	}
	return provider, func() { _ = db.Close() }, nil
}

func latest(provider *goose.Provider) int64 {
	var newest int64
	for _, source := range provider.ListSources() {
		newest = max(newest, source.Version)
	}
	return newest
}

func newer(version, newest int64) error {
	return fmt.Errorf("the database is at version %d, which is newer than the %d this release knows: use a newer release of spillway", version, newest)
}

// checkSchema refuses a database that this release cannot use.
func (s *Store) checkSchema(ctx context.Context) error {
	provider, done, err := migrator(s.config)
	if err != nil {
		return err
	}
	newest := latest(provider)
	done()
	var version int64
	err = s.call(ctx, "read version of the database", func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, "SELECT coalesce(max(version_id), 0) FROM "+versionTable+" WHERE is_applied").Scan(&version)
	})
	switch {
	case err != nil && !is(err, undefinedTable):
		return err
	case version < newest:
		return fmt.Errorf("the database is at version %d and this release needs %d: run `spillway migrate`", version, newest)
	case version > newest:
		return newer(version, newest)
	}
	return nil
}
