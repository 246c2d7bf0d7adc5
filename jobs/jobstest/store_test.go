package jobstest_test

import (
	"regexp"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/jobs/jobstest"
	"github.com/spillway-media/spillway/store/storetest"
)

func TestTheStoreInMemoryKeepsEveryRule(t *testing.T) { storetest.Run(t, open) }

func TestHistoryCostsNothing(t *testing.T) { storetest.Million(t, open) }

// open makes a store whose clock can be moved.
func open(*testing.T) *storetest.Backend {
	var offset atomic.Int64
	s := jobstest.NewStore(func() time.Time { return time.Now().Add(time.Duration(offset.Load())) })
	return &storetest.Backend{
		Store:  s,
		Shift:  func(d time.Duration) { offset.Add(int64(d)) },
		Reopen: func(testing.TB) jobs.Store { return s },
		Exec:   func(t testing.TB, sql string) { damage(t, s, sql) },
		Fill:   func(t testing.TB, n int) { fill(t, s, n) },
	}
}

var statement = regexp.MustCompile(`^UPDATE (\w+) SET (\w+) = (NULL|'\w+') WHERE id = '?([\w-]+)'?$`)

// damage understands the few statements that the suite has.
func damage(t testing.TB, s *jobstest.Store, sql string) {
	t.Helper()
	m := statement.FindStringSubmatch(sql)
	if m == nil {
		t.Fatalf("%q is not understood", sql)
	}
	id, _ := strconv.ParseInt(m[4], 10, 64)
	found := false
	switch m[2] {
	case "lease_until":
		found = s.Edit(jobs.ID(id), func(j *jobs.Job) { j.LeaseUntil = time.Time{} })
	case "lease_token":
		found = s.Edit(jobs.ID(id), func(j *jobs.Job) { j.Token = "" })
	case "status":
		found = s.EditWorker(m[4], func(w *jobs.WorkerRow) { w.Status = jobs.WorkerProvisioning })
	}
	if !found {
		t.Fatalf("%q changed nothing", sql)
	}
}

// fill puts in finished jobs by the ordinary way, which is fast enough here.
func fill(t testing.TB, s *jobstest.Store, n int) {
	t.Helper()
	specs := make([]jobs.Spec, n)
	for i := range specs {
		specs[i] = jobs.Spec{Type: "image.derive", Queue: []string{"images", "documents", "bulk"}[i%3], Priority: 1, MaxAttempts: 1}
	}
	entered, err := s.Enqueue(t.Context(), specs)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entered {
		if _, err := s.Cancel(t.Context(), e.Job.ID, ""); err != nil {
			t.Fatal(err)
		}
	}
}
