package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"strings"
	"sync"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// readStatements reads the statements by their names. A file of sql/ has many,
// each begun by a line "-- name: NAME"; {job} in them stands for the columns of
// a job, which is the statement of that name.
func readStatements() (map[string]string, error) {
	files, err := sqlFiles.ReadDir("sql")
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for _, file := range files {
		raw, err := sqlFiles.ReadFile("sql/" + file.Name())
		if err != nil {
			return nil, err
		}
		for _, part := range strings.Split(string(raw), "-- name: ")[1:] {
			name, text, _ := strings.Cut(part, "\n")
			if _, twice := texts[name]; twice {
				return nil, fmt.Errorf("read %s: %s is there twice", file.Name(), name)
			}
			texts[name] = strings.TrimSpace(text)
		}
	}
	columns := texts["job"]
	delete(texts, "job")
	for name, text := range texts {
		texts[name] = strings.ReplaceAll(text, "{job}", columns)
	}
	return texts, nil
}

// statements prepares each statement at its first use.
type statements struct {
	texts   map[string]string // immutable
	prepare func(context.Context, string) (*sql.Stmt, error)

	mu       sync.Mutex // guards prepared
	prepared map[string]*sql.Stmt
}

func newStatements(texts map[string]string, prepare func(context.Context, string) (*sql.Stmt, error)) *statements {
	return &statements{texts: texts, prepare: prepare, prepared: map[string]*sql.Stmt{}}
}

func (s *statements) get(ctx context.Context, name string) (*sql.Stmt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stmt, ok := s.prepared[name]; ok {
		return stmt, nil
	}
	text, ok := s.texts[name]
	if !ok {
		return nil, fmt.Errorf("no statement is named %q", name)
	}
	stmt, err := s.prepare(ctx, text)
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", name, err)
	}
	s.prepared[name] = stmt
	return stmt, nil
}

func (s *statements) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, stmt := range s.prepared {
		errs = append(errs, stmt.Close())
	}
	clear(s.prepared)
	return errors.Join(errs...)
}

// exec runs a statement and tells how many rows it changed.
func (s *statements) exec(ctx context.Context, name string, args ...any) (int64, error) {
	stmt, err := s.get(ctx, name)
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(ctx, args...)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return result.RowsAffected()
}

// row reads one row into dest; sql.ErrNoRows when there is none.
func (s *statements) row(ctx context.Context, name string, args []any, dest ...any) error {
	stmt, err := s.get(ctx, name)
	if err != nil {
		return err
	}
	if err := stmt.QueryRowContext(ctx, args...).Scan(dest...); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// scanner is a row that is being read.
type scanner interface{ Scan(dest ...any) error }

// all reads every row by read.
func all[T any](ctx context.Context, s *statements, name string, args []any, read func(scanner) (T, error)) ([]T, error) {
	stmt, err := s.get(ctx, name)
	if err != nil {
		return nil, err
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var list []T
	for err == nil && rows.Next() {
		var item T
		if item, err = read(rows); err == nil {
			list = append(list, item)
		}
	}
	if err = errors.Join(err, rows.Err(), rows.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return list, nil
}

// one is a column that stands alone.
func one[T any](row scanner) (T, error) {
	var value T
	err := row.Scan(&value)
	return value, err
}
