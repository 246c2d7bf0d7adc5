package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/store/sqlite"
)

// together begins calls while nobody may write, so that they share commits.
func together(t *testing.T, s *sqlite.Store, calls ...func()) {
	t.Helper()
	release, err := s.HoldTurn()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var begun atomic.Int64
	for _, call := range calls {
		wg.Go(func() { begun.Add(1); call() })
	}
	for begun.Load() < int64(len(calls)) {
		runtime.Gosched()
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
}

func TestManyCallersShareOneCommit(t *testing.T) {
	s := open(t, file(t))
	calls := make([]func(), 64)
	for i := range calls {
		calls[i] = func() {
			if _, err := s.Enqueue(t.Context(), []jobs.Spec{spec("images")}); err != nil {
				t.Error(err)
			}
		}
	}
	together(t, s, calls...)
	if got := s.OperationsPerCommit(); got < 5 {
		t.Errorf("%.1f operations shared a commit; 64 callers waited together", got)
	}
}

func TestOneOperationsFailureUndoesNoOther(t *testing.T) {
	s := open(t, file(t))
	var entered atomic.Int64
	bad := spec("images")
	bad.Priority = 11 // which the client refuses, and the schema as well
	var calls []func()
	for i := range 30 {
		calls = append(calls, func() {
			specs := []jobs.Spec{spec("images"), spec("images")}
			if i%3 == 0 {
				specs[1] = bad
			}
			_, err := s.Enqueue(t.Context(), specs)
			if (err != nil) != (i%3 == 0) {
				t.Errorf("call %d: %v", i, err)
			}
			if err == nil {
				entered.Add(2)
			} else if errors.Is(err, jobs.ErrUnavailable) {
				t.Errorf("call %d blames the store for what was asked of it: %v", i, err)
			}
		})
	}
	calls = append(calls, func() {
		if err := s.Finish(t.Context(), jobs.Lease{ID: 1, Token: "none"}, succeeded()); !errors.Is(err, jobs.ErrLeaseLost) {
			t.Errorf("finish without a lease: %v", err)
		}
	})
	together(t, s, calls...)
	list, err := s.Jobs(t.Context(), jobs.Filter{Limit: 200})
	if err != nil || int64(len(list)) != entered.Load() || len(list) != 40 {
		t.Errorf("%d jobs are there of %d acknowledged ones, 40 in all (%v)", len(list), entered.Load(), err)
	}
}

func TestACallerWhoseTimeEndsBehindABusyWriterHasWrittenNothing(t *testing.T) {
	path := file(t)
	s := open(t, path)
	other, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	tx, err := other.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := s.Enqueue(ctx, []jobs.Spec{spec("images")})
		failed <- err
	}()
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
	patient := make(chan error, 1)
	go func() {
		_, err := s.Enqueue(t.Context(), []jobs.Spec{spec("documents")})
		patient <- err
	}()
	if _, err := tx.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := <-patient; err != nil {
		t.Errorf("who waited was told %v", err)
	}
	list, err := s.Jobs(t.Context(), jobs.Filter{})
	if err != nil || len(list) != 1 || list[0].Queue != "documents" {
		t.Errorf("there are %v (%v)", list, err)
	}
}

func TestAProcessThatStopsWithTheTurnStopsNoOther(t *testing.T) {
	s := open(t, file(t))
	release, err := s.HoldTurn()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = release() }()
	if _, err := s.Enqueue(t.Context(), []jobs.Spec{spec("images")}); err != nil {
		t.Error(err)
	}
}

func TestTheLogBeginsAnewWhileWritingGoesOn(t *testing.T) {
	path := file(t)
	s := open(t, path)
	specs := make([]jobs.Spec, 500)
	for i := range specs {
		specs[i] = spec("images")
		specs[i].Params = json.RawMessage(`{"long":"` + strings.Repeat("x", 20_000) + `"}`)
	}
	// Its header counts how often that has happened, at byte 12.
	first := logHeader(t, path)
	for bytes.Equal(logHeader(t, path)[12:16], first[12:16]) {
		if _, err := s.Enqueue(t.Context(), specs); err != nil {
			t.Fatal(err)
		}
	}
}

func logHeader(t *testing.T, path string) []byte {
	t.Helper()
	log, err := os.Open(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	header := make([]byte, 32)
	if _, err := log.Read(header); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	return header
}

func TestAClosedStoreIsUnavailable(t *testing.T) {
	s := open(t, file(t))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Enqueue(t.Context(), []jobs.Spec{spec("images")}); !errors.Is(err, jobs.ErrUnavailable) {
		t.Errorf("enqueue: %v", err)
	}
	if _, err := s.Jobs(t.Context(), jobs.Filter{}); !errors.Is(err, jobs.ErrUnavailable) {
		t.Errorf("jobs: %v", err)
	}
	if _, err := s.Elect(t.Context(), "reconciler"); !errors.Is(err, jobs.ErrUnavailable) {
		t.Errorf("elect: %v", err)
	}
}
