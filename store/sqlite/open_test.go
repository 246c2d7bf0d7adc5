package sqlite_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/store/sqlite"
)

func TestStoresThatOpenANewFileTogetherMigrateItOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a strange #name?100%.db")
	var wg sync.WaitGroup
	stores := make([]*sqlite.Store, 8)
	for i := range stores {
		wg.Go(func() {
			s, err := sqlite.Open(t.Context(), path, discard())
			if err != nil {
				t.Error(err)
				return
			}
			stores[i] = s
			if _, err := s.Enqueue(t.Context(), []jobs.Spec{spec("images")}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, s := range stores {
		if s == nil {
			t.FailNow()
		}
		list, err := s.Jobs(t.Context(), jobs.Filter{})
		if err != nil || len(list) != len(stores) {
			t.Errorf("a store sees %d jobs of %d: %v", len(list), len(stores), err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	again := open(t, path)
	list, err := again.Jobs(t.Context(), jobs.Filter{})
	if err != nil || len(list) != len(stores) {
		t.Errorf("after opening it again there are %d jobs: %v", len(list), err)
	}
}

func TestAFileOfANewerReleaseIsRefused(t *testing.T) {
	path := file(t)
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	db := other(t, path)
	if _, err := db.Exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)"); err != nil {
		t.Fatal(err)
	}
	_, err := sqlite.Open(t.Context(), path, discard())
	if err == nil || !strings.Contains(err.Error(), "version 99") {
		t.Errorf("it was opened with %v", err)
	}
}

func TestOnlyTheOwnerReadsTheFiles(t *testing.T) {
	path := file(t)
	s := open(t, path)
	if _, err := s.Enqueue(t.Context(), []jobs.Spec{spec("images")}); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(path + "*")
	if err != nil || len(names) < 4 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", filepath.Base(name), info.Mode(), err)
		}
	}
}

func TestAnElectionIsHeldByOne(t *testing.T) {
	path := file(t)
	a, b := open(t, path), open(t, path)
	first, err := a.Elect(t.Context(), "reconciler")
	if err != nil || first == nil {
		t.Fatal(first, err)
	}
	if second, err := b.Elect(t.Context(), "reconciler"); err != nil || second != nil {
		t.Errorf("another was elected: %v, %v", second, err)
	}
	other, err := b.Elect(t.Context(), "another-name")
	if err != nil || other == nil {
		t.Errorf("an election of another name is not to be had: %v", err)
	}
	if err := first.Held(t.Context()); err != nil {
		t.Error(err)
	}
	first.Release()
	if err := first.Held(t.Context()); err == nil {
		t.Error("it is held after its release")
	}
	second, err := b.Elect(t.Context(), "reconciler")
	if err != nil || second == nil {
		t.Fatal("nobody can win what was released", err)
	}
	if err := os.Remove(path + "-elect-reconciler.lock"); err != nil {
		t.Fatal(err)
	}
	if err := second.Held(t.Context()); err == nil {
		t.Error("it is held by a lock that nobody else would see")
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if err := other.Held(t.Context()); err == nil {
		t.Error("it is held by a closed store")
	}
}

// Without statistics SQLite plans by the schema alone, so what it plans here for
// an empty file is what it does with a million rows.
func TestNoStatementReadsAWholeTable(t *testing.T) {
	path := file(t)
	open(t, path)
	db := other(t, path)
	texts, err := sqlite.Statements()
	if err != nil {
		t.Fatal(err)
	}
	large := []string{
		"processing_jobs", "j", "h", // as claims and figures call it
		"job_attempts", "job_checkpoints", "job_params", "job_webhooks", "worker_metrics",
		"scaling_decisions", "spend_entries",
	}
	running := []string{"expired", "list_running", "fleet", "held_by", "usage"} // all running jobs, of which there are as many as slots
	for name, text := range texts {
		if slices.Contains([]string{"begin", "commit", "rollback"}, name) {
			continue
		}
		for _, step := range plan(t, db, name, text) {
			words := strings.Fields(step)
			if words[0] == "SCAN" && slices.Contains(large, words[1]) && !slices.Contains(running, name) {
				t.Errorf("%s: %s", name, step)
			}
		}
	}
}

func plan(t *testing.T, db *sql.DB, name, text string) (steps []string) {
	t.Helper()
	rows, err := db.Query("EXPLAIN QUERY PLAN "+text, make([]any, 30)...)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
	}
	return steps
}

func TestNothingIsAcknowledgedThatGoesToAFileWithoutAName(t *testing.T) {
	for _, removed := range []string{"", "-wal"} {
		t.Run("jobs.db"+removed, func(t *testing.T) {
			path := file(t)
			s, err := sqlite.Open(t.Context(), path, discard())
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close() // which has reasons to complain
			if _, err := s.Enqueue(t.Context(), []jobs.Spec{spec("images")}); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(path + removed); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Enqueue(t.Context(), []jobs.Spec{spec("images")}); !errors.Is(err, jobs.ErrUnavailable) {
				t.Errorf("a removed file: %v", err)
			}
			if err := os.WriteFile(path+removed, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Enqueue(t.Context(), []jobs.Spec{spec("images")}); !errors.Is(err, jobs.ErrUnavailable) {
				t.Errorf("a replaced file: %v", err)
			}
		})
	}
}

func TestAFileOfTwoNamesIsOneStore(t *testing.T) {
	path := file(t)
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	first, second := open(t, link), open(t, path) // the link is there before the file
	for _, s := range []*sqlite.Store{first, second} {
		if _, err := s.Enqueue(t.Context(), []jobs.Spec{spec("images")}); err != nil {
			t.Fatal(err)
		}
	}
	if n := rows(t, path, "processing_jobs"); n != 2 {
		t.Errorf("%d of 2 jobs are in the file", n)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read the file: %v, %v", info.Mode(), err)
	}
	won, err := first.Elect(t.Context(), "reconciler")
	if err != nil || won == nil {
		t.Fatal(won, err)
	}
	if other, err := second.Elect(t.Context(), "reconciler"); err != nil || other != nil {
		t.Errorf("two are elected (%v)", err)
	}
}
