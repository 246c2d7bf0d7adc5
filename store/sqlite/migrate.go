package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrate brings the file to the newest schema. Processes that open it at the
// same time wait for each other.
func migrate(ctx context.Context, path string, log *slog.Logger) (err error) {
	lock, err := openLock(path + "-migrate.lock")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.close()) }()
	if err := retry(ctx, lock.try); err != nil {
		return fmt.Errorf("wait for who migrates: %w", err)
	}
	// The mode is written into the file, so later connections need not set it.
	db, err := connect(path, 1, "busy_timeout(10000)", "journal_mode(WAL)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files)
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	return up(ctx, provider, log)
}

func up(ctx context.Context, provider *goose.Provider, log *slog.Logger) error {
	current, newest, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	if current > newest {
		return fmt.Errorf("its schema is version %d, and this release knows %d at most: a newer release has opened it", current, newest)
	}
	if current == newest {
		return nil
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	log.Info("job store migrated", "from", current, "to", newest)
	return nil
}
