package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Migrate brings the file at path to the schema of this release, and makes it
// when there is none. It tells of the versions before and after. Open does the
// same; this is for who wants to know.
func Migrate(ctx context.Context, path string) (from, to int64, err error) {
	absolute, err := filepath.Abs(path)
	if err == nil {
		err = createFile(absolute)
	}
	if err == nil {
		from, to, err = migrate(ctx, absolute)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("migrate job store: %w", err)
	}
	return from, to, nil
}

// migrate brings the file to the newest schema. Processes that open it at the
// same time wait for each other.
func migrate(ctx context.Context, path string) (from, to int64, err error) {
	lock, err := openLock(path + "-migrate.lock")
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, lock.close()) }()
	if err := retry(ctx, lock.try); err != nil {
		return 0, 0, fmt.Errorf("wait for who migrates: %w", err)
	}
	// The mode is written into the file, so later connections need not set it.
	db, err := connect(path, 1, "busy_timeout(10000)", "journal_mode(WAL)")
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return 0, 0, err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files)
	if err != nil {
		return 0, 0, fmt.Errorf("read migrations: %w", err)
	}
	return up(ctx, provider)
}

func up(ctx context.Context, provider *goose.Provider) (from, to int64, err error) {
	current, newest, err := provider.GetVersions(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("read schema version: %w", err)
	}
	if current > newest {
		return 0, 0, fmt.Errorf("its schema is version %d, and this release knows %d at most: a newer release has opened it", current, newest)
	}
	if current == newest {
		return current, newest, nil
	}
	if _, err := provider.Up(ctx); err != nil {
		return 0, 0, fmt.Errorf("migrate: %w", err)
	}
	return current, newest, nil
}
