package main

import (
	"strings"
	"testing"
)

// events are what `go test -json` wrote for real runs, shortened.
const (
	onePass = `{"Action":"start","Package":"m/a"}
{"Action":"run","Package":"m/a","Test":"TestA"}
{"Action":"output","Package":"m/a","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"m/a","Test":"TestA","Output":"    a_test.go:9: summary: 12 files: 10 good, 2 refused\n"}
{"Action":"output","Package":"m/a","Test":"TestA","Output":"    a_test.go:9: chatter\n"}
{"Action":"pass","Package":"m/a","Test":"TestA","Elapsed":0}
{"Action":"output","Package":"m/a","Output":"PASS\n"}
{"Action":"output","Package":"m/a","Output":"ok  \tm/a\t0.002s\n"}
{"Action":"pass","Package":"m/a","Elapsed":0.003}
`
	oneSkip = `{"Action":"run","Package":"m/b","Test":"TestB"}
{"Action":"output","Package":"m/b","Test":"TestB","Output":"    b_test.go:4: no browser here\n"}
{"Action":"skip","Package":"m/b","Test":"TestB","Elapsed":0}
{"Action":"output","Package":"m/b","Output":"ok  \tm/b\t0.002s\n"}
{"Action":"pass","Package":"m/b","Elapsed":0.003}
`
	oneFail = `{"Action":"run","Package":"m/c","Test":"TestC"}
{"Action":"output","Package":"m/c","Test":"TestC","Output":"    c_test.go:7: got 1, want 2\n"}
{"Action":"fail","Package":"m/c","Test":"TestC","Elapsed":0}
{"Action":"output","Package":"m/c","Output":"FAIL\n"}
{"Action":"output","Package":"m/c","Output":"FAIL\tm/c\t0.002s\n"}
{"Action":"fail","Package":"m/c","Elapsed":0.003}
`
	noTests = `{"Action":"output","Package":"m/d","Output":"?   \tm/d\t[no test files]\n"}
{"Action":"skip","Package":"m/d","Elapsed":0}
`
	noBuild = `{"ImportPath":"m/e [m/e.test]","Action":"build-output","Output":"e_test.go:5:2: undefined: x\n"}
{"ImportPath":"m/e [m/e.test]","Action":"build-fail"}
{"Action":"output","Package":"m/e","Output":"FAIL\tm/e [build failed]\n"}
{"Action":"fail","Package":"m/e","Elapsed":0,"FailedBuild":"m/e [m/e.test]"}
`
	crash = `{"Action":"run","Package":"m/f","Test":"TestF"}
{"Action":"output","Package":"m/f","Test":"TestF","Output":"SIGSEGV: segmentation violation\n"}
{"Action":"output","Package":"m/f","Output":"FAIL\tm/f\t0.002s\n"}
{"Action":"fail","Package":"m/f","Elapsed":0.003}
`
)

func TestReport(t *testing.T) {
	tests := []struct {
		name   string
		events string
		good   bool
		want   []string
		not    []string
	}{
		{
			"a passed test is counted, and only its marked lines are shown", onePass, true,
			[]string{"ok  \tm/a\t0.002s\n", "summary: 12 files: 10 good, 2 refused\n", "1 passed, 0 failed, 0 skipped\n"},
			[]string{"chatter", "=== RUN", "PASS\n"},
		},
		{
			"a skipped test is a failure, and its reason is shown", onePass + oneSkip, false,
			[]string{"no browser here", "skipped, which counts as a failure: m/b TestB\n", "1 passed, 0 failed, 1 skipped\n"}, nil,
		},
		{
			"a failed test shows what it said", onePass + oneFail, false,
			[]string{"got 1, want 2", "FAIL\tm/c\t0.002s\n", "failed: m/c TestC\n", "1 passed, 1 failed, 0 skipped\n"}, nil,
		},
		{
			"a package without tests is not a skipped test", onePass + noTests, true,
			[]string{"1 passed, 0 failed, 0 skipped\n"}, nil,
		},
		{
			"a package that does not build is a failure", onePass + noBuild, false,
			[]string{"undefined: x", "failed: m/e did not build", "1 passed, 1 failed, 0 skipped\n"}, nil,
		},
		{
			"a test that a crash cut off is named, and what it said is shown", onePass + crash, false,
			[]string{"SIGSEGV", "failed: m/f TestF\n", "1 passed, 1 failed, 0 skipped\n"}, nil,
		},
		{
			"no test at all is a failure", noTests, false,
			[]string{"no test passed", "0 passed, 0 failed, 0 skipped\n"}, nil,
		},
		{
			"what is not an event is passed through", onePass + "go: cannot find main module\n", true,
			[]string{"go: cannot find main module\n"}, nil,
		},
		{
			"several runs add up to one closing line", onePass + onePass, true,
			[]string{"2 passed, 0 failed, 0 skipped\n"}, []string{"\n1 passed"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			report := NewReport(&out)
			if err := report.Read(strings.NewReader(test.events)); err != nil {
				t.Fatalf("read: %v", err)
			}
			report.Close()
			if report.Good() != test.good {
				t.Errorf("good is %v, want %v", report.Good(), test.good)
			}
			for _, want := range test.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("report does not contain %q:\n%s", want, out.String())
				}
			}
			for _, not := range test.not {
				if strings.Contains(out.String(), not) {
					t.Errorf("report contains %q:\n%s", not, out.String())
				}
			}
		})
	}
}
