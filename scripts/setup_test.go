// Package scripts_test checks the shell scripts of this folder, run for real
// with stand-ins for the system's tools on a PATH of their own, so that
// nothing on the machine is changed.
package scripts_test

import (
	"archive/tar"
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A stage is a machine made of stand-ins: what is not on it does not exist.
type stage struct {
	t    *testing.T
	bin  string // the only folder on PATH
	home string
	log  string // what the stand-ins were called with, a line a call
}

// newStage has a root shell and the tools that every Unix has, and nothing of
// what Spillway needs.
func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, bin: t.TempDir(), home: t.TempDir()}
	s.log = filepath.Join(s.home, "calls")
	for _, tool := range []string{
		"bash", "cat", "cut", "dirname", "env", "grep", "gzip", "ls", "mkdir", "mktemp", "mv", "rm",
		"sha256sum", "tar", "tr", "true",
	} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Fatalf("look for %s: %v", tool, err)
		}
		if err := os.Symlink(path, filepath.Join(s.bin, tool)); err != nil {
			t.Fatalf("link %s: %v", tool, err)
		}
	}
	s.has("id", `echo 0`)
	s.has("uname", `case $1 in -m) echo x86_64 ;; *) echo Linux ;; esac`)
	return s
}

// has puts a tool on the stage; its calls are written to the log first.
func (s *stage) has(tool, script string) {
	s.t.Helper()
	text := "#!/usr/bin/env bash\necho \"" + tool + " $*\" >>" + s.log + "\n" + script + "\n"
	path := filepath.Join(s.bin, tool)
	// It may be a link to the real tool, which must not be written through.
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		s.t.Fatalf("replace %s: %v", tool, err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		s.t.Fatalf("write %s: %v", tool, err)
	}
}

// hasAll puts everything on the stage that building and running needs.
func (s *stage) hasAll() {
	s.t.Helper()
	s.hasApt("true")
	s.has("go", `echo go1.26.8`)
	s.has("gcc", "true")
	s.has("cc", "true")
	s.has("pkg-config", "true")
}

// hasApt puts a Debian's package tools on the stage; install is what an
// `apt-get install` does beyond being written to the log.
func (s *stage) hasApt(install string) {
	s.t.Helper()
	s.has("dpkg-query", "true")
	s.has("apt-cache", "exit 100")
	s.has("apt-get", `case " $* " in *" install "*) `+install+` ;; esac`)
}

// lacksLibvips makes libvips unusable until the file named installed is there.
func (s *stage) lacksLibvips() (installed string) {
	s.t.Helper()
	installed = filepath.Join(s.home, "installed")
	s.has("pkg-config", `case $1 in --modversion) echo 8.12.1 ;; *) [ -e `+installed+` ] ;; esac`)
	return installed
}

// hasAllForTests puts everything on the stage that the tests need, h2spec apart.
func (s *stage) hasAllForTests() {
	s.t.Helper()
	s.hasAll()
	for _, tool := range []string{
		"git", "chromium", "initdb", "redis-server", "curl", "nghttp", "h2load", "unshare", "ip", "tc",
	} {
		s.has(tool, "true")
	}
}

func (s *stage) setup(target string) (output string, ok bool) {
	s.t.Helper()
	// Read here, so that go test knows when its cached result is out of date.
	if _, err := os.ReadFile("setup.sh"); err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.CommandContext(s.t.Context(), filepath.Join(s.bin, "bash"), "setup.sh", target)
	// The certificates of the machine that runs the test count as installed.
	cmd.Env = []string{"PATH=" + s.bin, "HOME=" + s.home}
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

func (s *stage) calls() string {
	s.t.Helper()
	data, err := os.ReadFile(s.log)
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatalf("read calls: %v", err)
	}
	return string(data)
}

func wantIn(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s does not contain %q:\n%s", what, part, text)
		}
	}
}

func wantNotIn(t *testing.T, what, text, part string) {
	t.Helper()
	if strings.Contains(text, part) {
		t.Errorf("%s contains %q:\n%s", what, part, text)
	}
}

func TestSetupInstallsWhatIsMissing(t *testing.T) {
	t.Run("nothing is installed, and nothing said, when nothing is missing", func(t *testing.T) {
		s := newStage(t)
		s.hasAll()
		output, ok := s.setup("build")
		if !ok || output != "" {
			t.Errorf("ok %v, said %q", ok, output)
		}
		wantNotIn(t, "calls", s.calls(), "apt-get")
	})

	t.Run("libvips comes from apt after one update of its lists", func(t *testing.T) {
		s := newStage(t)
		s.hasAll()
		installed := s.lacksLibvips()
		s.hasApt("echo >" + installed)
		output, ok := s.setup("build")
		if !ok {
			t.Fatalf("setup failed: %s", output)
		}
		calls := s.calls()
		wantIn(t, "calls", calls, "-y -qq install --no-install-recommends libvips-dev pkg-config")
		if n := strings.Count(calls, " update"); n != 1 {
			t.Errorf("the package lists were updated %d times:\n%s", n, calls)
		}
	})

	t.Run("codecs that the system packages apart are installed with libvips", func(t *testing.T) {
		s := newStage(t)
		s.hasAll()
		installed := s.lacksLibvips()
		s.hasApt("echo >" + installed)
		s.has("apt-cache", `[ "$2" = libheif-plugin-aomenc ]`)
		if output, ok := s.setup("build"); !ok {
			t.Fatalf("setup failed: %s", output)
		}
		wantIn(t, "calls", s.calls(), "libvips-dev pkg-config libheif-plugin-aomenc\n")
	})

	t.Run("all that is missing comes in one call", func(t *testing.T) {
		s := newStage(t)
		s.hasApt(`for tool in gcc cc pkg-config; do ln -sf "$(type -P true)" ` + "\"$(dirname \"$0\")/$tool\"; done")
		s.has("ln", `/bin/ln "$@"`)
		s.has("go", `echo go1.26.8`)
		if output, ok := s.setup("build"); !ok {
			t.Fatalf("setup failed: %s", output)
		}
		calls := s.calls()
		wantIn(t, "calls", calls, "gcc libc6-dev libc6-dev libvips-dev pkg-config")
		if n := strings.Count(calls, " install "); n != 1 {
			t.Errorf("apt-get install was called %d times:\n%s", n, calls)
		}
	})

	t.Run("brew is used where there is no apt", func(t *testing.T) {
		s := newStage(t)
		installed := s.lacksLibvips()
		s.has("uname", `case $1 in -m) echo arm64 ;; *) echo Darwin ;; esac`)
		s.has("go", `echo go1.27.0`)
		s.has("clang", "true")
		s.has("brew", "echo >"+installed)
		if output, ok := s.setup("build"); !ok {
			t.Fatalf("setup failed: %s", output)
		}
		wantIn(t, "calls", s.calls(), "brew install --quiet vips pkg-config")
	})
}

func TestSetupBuildsToolsWrittenInGo(t *testing.T) {
	const builds = `case $1 in
  env) echo go1.26.8 ;;
  install) printf '#!/bin/sh\n' >"$GOBIN/h2spec"; "${0%/*}/chmod" +x "$GOBIN/h2spec" ;;
esac`
	machine := func(t *testing.T) *stage {
		t.Helper()
		s := newStage(t)
		s.hasAllForTests()
		s.has("chmod", `/bin/chmod "$@"`)
		s.has("go", builds)
		return s
	}

	t.Run("h2spec is built once, at its pinned version", func(t *testing.T) {
		s := machine(t)
		output, ok := s.setup("test")
		if !ok {
			t.Fatalf("setup failed: %s", output)
		}
		again, ok := s.setup("test")
		if !ok || again != "" {
			t.Errorf("the second time: ok %v, said %q", ok, again)
		}
		calls := s.calls()
		wantIn(t, "calls", calls, "go install github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible\n")
		if n := strings.Count(calls, "go install"); n != 1 {
			t.Errorf("it was built %d times:\n%s", n, calls)
		}
	})

	t.Run("one of another version is built anew", func(t *testing.T) {
		s := machine(t)
		if output, ok := s.setup("test"); !ok {
			t.Fatalf("setup failed: %s", output)
		}
		version := filepath.Join(s.home, ".cache/spillway/bin/h2spec.version")
		if err := os.WriteFile(version, []byte("2.1.0+incompatible\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if output, ok := s.setup("test"); !ok {
			t.Fatalf("setup failed: %s", output)
		}
		if n := strings.Count(s.calls(), "go install"); n != 2 {
			t.Errorf("it was built %d times:\n%s", n, s.calls())
		}
	})

	t.Run("a build that fails is told with its likely cause", func(t *testing.T) {
		s := machine(t)
		s.has("go", `[ "$1" = env ] && echo go1.26.8`)
		output, ok := s.setup("test")
		if ok {
			t.Errorf("setup succeeded")
		}
		wantIn(t, "output", output, "h2spec 2.2.1+incompatible could not be built", "go env GOPROXY")
	})

	t.Run("peers for HTTP/2 come from the system", func(t *testing.T) {
		s := machine(t)
		if err := os.Remove(filepath.Join(s.bin, "h2load")); err != nil {
			t.Fatal(err)
		}
		s.hasApt(`ln -sf "$(type -P true)" "$(dirname "$0")/h2load"`)
		s.has("ln", `/bin/ln "$@"`)
		for _, target := range []string{"bench-h2", "test"} {
			if output, ok := s.setup(target); !ok {
				t.Fatalf("setup %s failed: %s", target, output)
			}
		}
		if n := strings.Count(s.calls(), "install --no-install-recommends nghttp2-client\n"); n != 1 {
			t.Errorf("they were installed %d times:\n%s", n, s.calls())
		}
	})
}

func TestSetupSaysWhatToDoWhenItCannotInstall(t *testing.T) {
	tests := []struct {
		name string
		set  func(s *stage)
		want []string
	}{
		{
			"a system with neither apt nor brew",
			func(s *stage) {
				s.has("go", `echo go1.26.8`)
				s.has("gcc", "true")
				s.has("cc", "true")
			},
			[]string{"neither apt-get nor brew", "by hand: libvips (libvips 8.14 or newer with its headers)"},
		},
		{
			"a user who is not root on a system without sudo",
			func(s *stage) {
				s.hasAll()
				s.lacksLibvips()
				s.has("id", "echo 1000")
			},
			[]string{"there is no sudo. As root, run: apt-get update && apt-get install --no-install-recommends libvips-dev pkg-config"},
		},
		{
			"a sudo that wants a password nobody can type",
			func(s *stage) {
				s.hasAll()
				s.lacksLibvips()
				s.has("id", "echo 1000")
				s.has("sudo", "exit 1")
			},
			[]string{"sudo has no terminal to ask for a password on. As root, run: apt-get update && apt-get install"},
		},
		{
			"a package that is not to be had",
			func(s *stage) {
				s.hasAll()
				s.lacksLibvips()
				s.hasApt("echo E: Unable to locate; exit 100")
			},
			[]string{"E: Unable to locate\n", "apt-get could not install: libvips-dev pkg-config"},
		},
		{
			"a system whose libvips is too old",
			func(s *stage) {
				s.hasAll()
				s.lacksLibvips()
			},
			[]string{"libvips is still not usable", "8.14 or newer is needed; pkg-config finds '8.12.1'"},
		},
		{
			"a target that does not exist",
			func(s *stage) { s.hasAll() },
			[]string{"usage: scripts/setup.sh"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStage(t)
			test.set(s)
			target := "build"
			if strings.HasPrefix(test.name, "a target") {
				target = "nonsense"
			}
			output, ok := s.setup(target)
			if ok {
				t.Errorf("setup succeeded")
			}
			wantIn(t, "output", output, test.want...)
		})
	}
}

func TestSetupFetchesGoWhenItIsMissingOrOld(t *testing.T) {
	const pinned = "d0f743b33e8d8945e6b1f432edd15785c70507121d6e2a723b21285eddf8b57b"
	delivers := func(version string) string {
		return `while [ "$1" != -o ]; do shift; done; cat ` + goArchive(t, version) + ` >"$2"`
	}
	trusts := `echo ` + pinned + `  "$1"`

	t.Run("an archive with the published checksum is unpacked into the cache", func(t *testing.T) {
		s := newStage(t)
		s.hasAll()
		s.has("go", `echo go1.19.8`)
		s.has("curl", delivers("go1.26.8"))
		s.has("sha256sum", trusts)
		output, ok := s.setup("build")
		if !ok {
			t.Fatalf("setup failed: %s", output)
		}
		wantIn(t, "calls", s.calls(), "https://go.dev/dl/go1.26.8.linux-amd64.tar.gz")
		if _, err := os.Stat(filepath.Join(s.home, ".cache/spillway/go1.26.8/bin/go")); err != nil {
			t.Errorf("Go is not in the cache: %v", err)
		}
		s.has("curl", "exit 6")
		if output, ok := s.setup("build"); !ok {
			t.Errorf("the cached Go was not used: %s", output)
		}
	})

	failures := []struct {
		name string
		set  func(s *stage)
		want []string
	}{
		{
			"the download cannot be reached",
			func(s *stage) { s.has("curl", "exit 6") },
			[]string{"cannot be reached from here", "https://go.dev/doc/install", ".cache/spillway/go1.26.8/bin/go"},
		},
		{
			"the archive is not the published one",
			func(s *stage) { s.has("curl", delivers("go1.26.8")) },
			[]string{"not " + pinned + ": it was not unpacked"},
		},
		{
			"there is no release for the processor",
			func(s *stage) {
				s.has("curl", "exit 6")
				s.has("uname", `case $1 in -m) echo vax ;; *) echo Linux ;; esac`)
			},
			[]string{"no Go 1.26.8 checksum for linux-vax"},
		},
		{
			"the unpacked Go does not run",
			func(s *stage) {
				s.has("curl", delivers("none"))
				s.has("sha256sum", trusts)
			},
			[]string{"does not run on this machine"},
		},
	}
	for _, test := range failures {
		t.Run(test.name, func(t *testing.T) {
			s := newStage(t)
			s.hasAll()
			if err := os.Remove(filepath.Join(s.bin, "go")); err != nil {
				t.Fatal(err)
			}
			test.set(s)
			output, ok := s.setup("build")
			if ok {
				t.Errorf("setup succeeded")
			}
			wantIn(t, "output", output, test.want...)
			left, err := filepath.Glob(filepath.Join(s.home, ".cache/spillway/go.*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v %v", left, err)
			}
		})
	}
}

// goArchive is a release of Go as small as can be: all it does is tell its
// version.
func goArchive(t *testing.T, version string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "go.tar.gz")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}()
	zip := gzip.NewWriter(file)
	archive := tar.NewWriter(zip)
	text := "#!/usr/bin/env bash\necho " + version + "\n"
	if err := archive.WriteHeader(&tar.Header{Name: "go/bin/go", Mode: 0o755, Size: int64(len(text))}); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}
