package sqlite_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/spillway-media/spillway/jobs"
)

func TestLongParamsOutliveEveryChange(t *testing.T) {
	path := file(t)
	s := open(t, path)
	register(t, s, "w")
	long := spec("images")
	long.Params = json.RawMessage(`{"inputs":"` + strings.Repeat("x", 1<<20-20) + `"}`)
	entered, err := s.Enqueue(t.Context(), []jobs.Spec{long, spec("documents")})
	if err != nil {
		t.Fatal(err)
	}
	claimed, err := s.Claim(t.Context(), claim("w", 1))
	if err != nil || len(claimed) != 1 {
		t.Fatal(len(claimed), err)
	}
	if err := s.Finish(t.Context(), lease(claimed[0]), succeeded()); err != nil {
		t.Fatal(err)
	}
	read, err := s.Job(t.Context(), entered[0].Job.ID)
	if err != nil {
		t.Fatal(err)
	}
	for what, j := range map[string]jobs.Job{"enqueued": entered[0].Job, "claimed": claimed[0], "finished": read} {
		if string(j.Params) != string(long.Params) {
			t.Errorf("the job that was %s has %d bytes of params; want %d", what, len(j.Params), len(long.Params))
		}
	}
	if n, err := s.Prune(t.Context(), jobs.Retention{}, 10); err != nil || n != 1 {
		t.Fatalf("pruned %d (%v)", n, err)
	}
	if n := rows(t, path, "job_params"); n != 0 {
		t.Errorf("%d long params are left of jobs that are gone", n)
	}
}

func TestAJobOfManyCheckpointsIsPrunedInSteps(t *testing.T) {
	path := file(t)
	s := open(t, path)
	register(t, s, "w")
	if _, err := s.Enqueue(t.Context(), []jobs.Spec{spec("images"), spec("images"), spec("images")}); err != nil {
		t.Fatal(err)
	}
	claimed, err := s.Claim(t.Context(), claim("w", 3))
	if err != nil || len(claimed) != 3 {
		t.Fatal(len(claimed), err)
	}
	for _, j := range claimed {
		parts := make([]jobs.Checkpoint, 1250) // more than one step deletes
		for i := range parts {
			parts[i] = jobs.Checkpoint{Key: fmt.Sprintf("%04d", i), Value: json.RawMessage(`1`)}
		}
		if err := s.SaveCheckpoints(t.Context(), lease(j), parts); err != nil {
			t.Fatal(err)
		}
		if err := s.Finish(t.Context(), lease(j), succeeded()); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []int{2, 1, 0} {
		if n, err := s.Prune(t.Context(), jobs.Retention{}, 2); err != nil || n != want {
			t.Errorf("pruned %d; want %d (%v)", n, want, err)
		}
	}
	for _, table := range []string{"processing_jobs", "job_checkpoints", "job_attempts"} {
		if n := rows(t, path, table); n != 0 {
			t.Errorf("%d rows are left in %s", n, table)
		}
	}
}

func rows(t *testing.T, path, table string) (n int) {
	t.Helper()
	if err := other(t, path).QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
