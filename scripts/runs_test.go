package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// project is a small repository with copies of this one's scripts.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{
		"scripts/test.sh", "scripts/limits.sh", "scripts/fuzz.sh", "scripts/vuln.sh", ".ci/run",
		"scripts/testreport/doc.go", "scripts/testreport/main.go", "scripts/testreport/report.go",
	} {
		data, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(folder, name), string(data), 0o755)
	}
	for name, text := range files {
		write(t, filepath.Join(folder, name), text, 0o755)
	}
	return folder
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// command runs one in a folder, with more settings, and gives all it said.
func command(t *testing.T, folder string, settings []string, name string, args ...string) (output string, ok bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), settings...)
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

func TestTestScriptFailsOnSkippedTests(t *testing.T) {
	const module = "module example.com/m\n\ngo 1.26\n"
	tests := []struct {
		name, body string
		ok         bool
		closing    string
	}{
		{"a test that passes", "", true, "1 passed, 0 failed, 0 skipped\n"},
		{"a test that is skipped", `t.Skip("not today")`, false, "0 passed, 0 failed, 1 skipped\n"},
		{"a test that fails", `t.Error("wrong")`, false, "0 passed, 1 failed, 0 skipped\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			folder := project(t, map[string]string{
				"go.mod":      module,
				"a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { " + test.body + " }\n",
			})
			output, ok := command(t, folder, nil, "scripts/test.sh")
			if ok != test.ok {
				t.Errorf("success is %v, want %v", ok, test.ok)
			}
			if !strings.HasSuffix(output, test.closing) {
				t.Errorf("the last line is not %q:\n%s", test.closing, output)
			}
		})
	}
}

func TestLimitsScript(t *testing.T) {
	tests := []struct {
		name, file, text string
		want             string // "" when there is nothing to complain of
	}{
		{"a short file is fine", "a/a.go", "package a\n", ""},
		{"a file of 601 lines is too long", "a/a.go", "package a\n" + strings.Repeat("\n", 600), "a/a.go has 601 lines, more than 600"},
		{"a long test file is fine", "a/a_test.go", "package a\n" + strings.Repeat("\n", 600), ""},
		{"a long README is too long", "README.md", strings.Repeat("\n", 151), "README.md has 151 lines, more than 150"},
		{"C outside internal/vips is named", "a/a.go", "package a\n\nimport \"C\"\n", "a/a.go imports C"},
		{"C in internal/vips is fine", "internal/vips/a.go", "package vips\n\nimport \"C\"\n", ""},
		{"somebody's folder is named", "a.md", "see " + "/ho" + "me/jo/notes\n", "a path of one machine"},
		{"a registry's host is named", "a.md", "see https://proxy.golang" + ".org/x\n", "a package registry's host"},
		{"a folder inside a URL is fine", "a.md", "see https://example.com" + "/wo" + "rk/notes\n", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			folder := project(t, map[string]string{test.file: test.text})
			for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}} {
				if output, ok := command(t, folder, nil, "git", args...); !ok {
					t.Fatalf("git %v: %s", args, output)
				}
			}
			output, ok := command(t, folder, nil, "scripts/limits.sh")
			if ok != (test.want == "") || !strings.Contains(output, test.want) {
				t.Errorf("success is %v, want the complaint %q, got: %s", ok, test.want, output)
			}
		})
	}
}

func TestCIRunsEverythingAndEndsWithTheClosingLines(t *testing.T) {
	const fakeMake = `#!/usr/bin/env bash
[ "$CI" = "$GIVEN" ] || exit 9 # whether this is CI is for the caller to say
case $1 in
  test) printf 'chatter\nok  \tm/a\t0.1s\nsummary: 3 files\n7 passed, 0 failed, 0 skipped\n' ;;
  test-conformance-heavy) printf 'ok  \tm/heavy\t9.1s\n2 passed, 0 failed, 0 skipped\n' ;;
  "$BROKEN") echo broken; exit 2 ;;
esac
`
	folder := project(t, map[string]string{"bin/make": fakeMake})
	path := "PATH=" + filepath.Join(folder, "bin") + ":" + os.Getenv("PATH")

	t.Run("it passes when every stage does", func(t *testing.T) {
		output, ok := command(t, folder, []string{path, "BROKEN=none", "CI=", "GIVEN="}, "bash", ".ci/run")
		if !ok {
			t.Errorf("it failed: %s", output)
		}
		_, closing, _ := strings.Cut(output, "== closing lines\n")
		wantIn(t, "closing lines", closing, "ok  \tm/a\t0.1s\n", "summary: 3 files\n", "ok  \tm/heavy\t9.1s\n")
		last := regexp.MustCompile(`test: 7 passed, 0 failed, 0 skipped\n$`)
		if !last.MatchString(output) {
			t.Errorf("the last line does not count the tests:\n%s", output)
		}
	})

	t.Run("it fails when a late stage does, after all the others ran", func(t *testing.T) {
		output, ok := command(t, folder, []string{path, "BROKEN=lint", "CI=true", "GIVEN=true"}, "bash", ".ci/run")
		if ok {
			t.Errorf("it passed")
		}
		wantIn(t, "output", output, "== lint FAILED", "== vet passed", "test: 7 passed, 0 failed, 0 skipped\n", "failed: lint\n")
	})
}

func TestVulnTellsAnUnreachableDatabaseFromAFinding(t *testing.T) {
	tests := []struct {
		name, govulncheck string
		ok                bool
		want              string
	}{
		{"nothing found", "echo No vulnerabilities found.", true, "No vulnerabilities found."},
		{"something found", "echo Vulnerability 1; exit 3", false, "Vulnerability 1"},
		{"code that does not build", "echo undefined: x; exit 1", false, "undefined: x"},
		{
			"a database that cannot be reached",
			`echo 'govulncheck: fetching vulnerabilities: lookup vuln.example: no such host'; exit 1`,
			true, "NOT CHECKED: the vulnerability database cannot be reached",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			folder := project(t, map[string]string{"bin/govulncheck": "#!/bin/sh\n" + test.govulncheck + "\n"})
			path := "PATH=" + filepath.Join(folder, "bin") + ":" + os.Getenv("PATH")
			output, ok := command(t, folder, []string{path}, "scripts/vuln.sh")
			if ok != test.ok || !strings.Contains(output, test.want) {
				t.Errorf("success is %v, want %v and %q: %s", ok, test.ok, test.want, output)
			}
		})
	}
}

func TestFuzzRunsEachTargetOfEachPackage(t *testing.T) {
	const fakeGo = `#!/usr/bin/env bash
case " $* " in
  *" -list "*) printf '?   \tm/none\t[no test files]\nFuzzOne\nFuzzTwo\nok  \tm/a\t0.1s\nok  \tm/b\t0.1s\nFuzzThree\nok  \tm/c\t0.1s\n' ;;
  *" $BROKEN "*) exit 1 ;;
  *) echo "go $*" ;;
esac
`
	folder := project(t, map[string]string{"bin/go": fakeGo})
	path := "PATH=" + filepath.Join(folder, "bin") + ":" + os.Getenv("PATH")

	t.Run("every target runs alone, for the time asked for", func(t *testing.T) {
		output, ok := command(t, folder, []string{path, "BROKEN=none"}, "scripts/fuzz.sh", "7s")
		if !ok {
			t.Errorf("it failed: %s", output)
		}
		wantIn(t, "output", output,
			"go test -run ^$ -fuzz ^FuzzOne$ -fuzztime 7s m/a\n",
			"go test -run ^$ -fuzz ^FuzzTwo$ -fuzztime 7s m/a\n",
			"go test -run ^$ -fuzz ^FuzzThree$ -fuzztime 7s m/c\n")
	})

	t.Run("one that finds something fails the run after the others had their turn", func(t *testing.T) {
		output, ok := command(t, folder, []string{path, "BROKEN=^FuzzOne$"}, "scripts/fuzz.sh", "7s")
		if ok {
			t.Errorf("it passed")
		}
		wantIn(t, "output", output, "-fuzz ^FuzzThree$", "fuzz: failed: FuzzOne\n")
	})
}
