package simulate_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/fleet"
	"github.com/spillway-media/spillway/fleet/simulate"
)

func csvOf(text string) simulate.Trace {
	return simulate.CSV(func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }, "media")
}

func read(trace simulate.Trace) (jobs []fleet.PastJob, err error) {
	for j, err := range trace {
		if err != nil {
			return jobs, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

func TestATraceIsReadFromCSV(t *testing.T) {
	at := time.Date(2026, 6, 1, 8, 30, 0, 500_000_000, time.UTC)
	for name, c := range map[string]struct {
		text string
		want []fleet.PastJob
	}{
		"all columns": {
			"at,queue,priority,seconds,estimated_seconds,checkpointable,failed\n2026-06-01T08:30:00.5Z,ocr,2,1.5,3,true,1\n",
			[]fleet.PastJob{{At: at, Queue: "ocr", Priority: 2, Service: 1500 * time.Millisecond, Estimate: 3 * time.Second, Checkpointable: true, Failed: true}},
		},
		"the two that have to be there, in any order and among others": {
			"id,SECONDS, at \n7,10,0.25\n",
			[]fleet.PastJob{{At: time.Unix(0, 250_000_000).UTC(), Queue: "media", Priority: 5, Service: 10 * time.Second}},
		},
		"empty fields are defaults": {
			"at,seconds,queue,priority,estimated_seconds,checkpointable,failed\n0,1,,,,,\n",
			[]fleet.PastJob{{At: time.Unix(0, 0).UTC(), Queue: "media", Priority: 5, Service: time.Second}},
		},
		"a byte order mark and no job": {"\ufeffat,seconds\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := read(csvOf(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestABadTraceIsRefusedWithItsLineAndColumn(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "the file is empty",
		"at,queue\n":                     `there is no column "seconds"`,
		"seconds\n":                      `there is no column "at"`,
		"at,seconds\nyesterday,1\n":      `line 2: at: "yesterday" is neither a time`,
		"at,seconds\n0,1\n1,-1\n":        `line 3: seconds: "-1" is not a number of seconds`,
		"at,seconds\n0,NaN\n":            `line 2: seconds: "NaN"`,
		"at,seconds,priority\n0,1,11\n":  `line 2: priority: "11" is not a priority from 1 to 10`,
		"at,seconds,failed\n0,1,maybe\n": `line 2: failed: "maybe" is neither true nor false`,
		"at,seconds\n0\n":                "wrong number of fields",
	} {
		if _, err := read(csvOf(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestATraceThatIsWrittenReadsBackTheSame(t *testing.T) {
	want, err := read(simulate.Synthetic{Days: 1, Shares: []simulate.Share{{Queue: "ocr", Priority: 2}, {Queue: "bulk", Priority: 8}}}.Trace())
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	n, err := simulate.WriteCSV(&file, func(yield func(fleet.PastJob, error) bool) {
		for _, j := range want {
			if !yield(j, nil) {
				return
			}
		}
	})
	if err != nil || n != int64(len(want)) {
		t.Fatalf("%d jobs, %v", n, err)
	}
	got, err := read(csvOf(file.String()))
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		want[i].Estimate = want[i].Service
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzCSV(f *testing.F) {
	f.Add("at,seconds\n0,1\n")
	f.Add("at,queue,priority,seconds,estimated_seconds,checkpointable,failed\n2026-06-01T08:30:00Z,ocr,2,1.5,3,true,0\n")
	f.Add("at,seconds\n\"1e9\",1e300\n")
	f.Fuzz(func(t *testing.T, text string) {
		jobs, err := read(csvOf(text))
		if err == nil {
			var again bytes.Buffer
			if _, err := simulate.WriteCSV(&again, csvOf(text)); err != nil {
				t.Errorf("what was read cannot be written: %v", err)
			}
		}
		for _, j := range jobs {
			if j.Service < 0 || j.Estimate < 0 || j.Priority < 1 || j.Priority > 10 {
				t.Errorf("a job that cannot be: %+v", j)
			}
		}
	})
}
