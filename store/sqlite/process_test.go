package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/spillway-media/spillway/jobs"
	"github.com/spillway-media/spillway/store/sqlite"
	"github.com/spillway-media/spillway/store/storetest"
	"golang.org/x/sys/unix"
)

// The test binary is also the other process of these tests: a worker that is
// told by its environment what to do.
const (
	childRole = "SPILLWAY_TEST_SQLITE_ROLE"
	childPath = "SPILLWAY_TEST_SQLITE_PATH"
	childName = "SPILLWAY_TEST_SQLITE_NAME"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(childRole); role != "" {
		if err := child(role); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// child tells on its output what was acknowledged to it, a line for each, and
// works until it is killed or has nothing to do any more.
func child(role string) error {
	ctx := context.Background()
	if role == "look" {
		return look(os.Getenv(childPath))
	}
	s, err := sqlite.Open(ctx, os.Getenv(childPath), discard())
	if err != nil {
		return err
	}
	if role == "suite" {
		return storetest.Work(ctx, s, os.Stdout)
	}
	name := os.Getenv(childName)
	if err := s.Register(ctx, jobs.WorkerRow{ID: name, Market: jobs.VPS}); err != nil {
		return err
	}
	var wg sync.WaitGroup
	var mu sync.Mutex // a line is written as a whole
	failures := make(chan error, callers)
	for range callers {
		wg.Go(func() {
			for again := true; again; again = role == "endless" {
				failures <- enqueueAndWork(ctx, s, name, func(format string, args ...any) {
					mu.Lock()
					defer mu.Unlock()
					fmt.Fprintf(os.Stdout, format, args...)
				})
				if role == "endless" {
					<-failures
				}
			}
		})
	}
	wg.Wait()
	close(failures)
	var errs []error
	for err := range failures {
		errs = append(errs, err)
	}
	return errors.Join(append(errs, s.Close())...)
}

// look fails unless another process has SQLite's shared lock on the file. Whoever
// gets the opposite lock when it closes the file takes itself for the last, and
// removes the log. (The numbers are those of SQLite's file format.)
func look(path string) error {
	db, err := os.Open(path)
	if err != nil {
		return err
	}
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: 0x40000002, Len: 510}
	err = unix.FcntlFlock(db.Fd(), unix.F_GETLK, &lock)
	if err == nil && lock.Type == unix.F_UNLCK {
		err = errors.New("nobody has the file locked")
	}
	return errors.Join(err, db.Close())
}

const (
	callers = 4
	each    = 50 // jobs that one caller enqueues
)

func enqueueAndWork(ctx context.Context, s *sqlite.Store, name string, tell func(string, ...any)) error {
	for range each {
		entered, err := s.Enqueue(ctx, []jobs.Spec{spec("images")})
		if err != nil {
			return fmt.Errorf("enqueue: %w", err)
		}
		tell("enqueued %s\n", entered[0].Job.ID)
	}
	for {
		list, err := s.Claim(ctx, claim(name, 2))
		if err != nil {
			return fmt.Errorf("claim: %w", err)
		}
		if len(list) == 0 {
			return nil
		}
		for _, j := range list {
			if err := s.Finish(ctx, lease(j), succeeded()); err != nil {
				return fmt.Errorf("finish job %s: %w", j.ID, err)
			}
			tell("finished %s\n", j.ID)
		}
	}
}

// start begins a child, which is dead when the test is over.
func start(t *testing.T, role, path, name string) (*exec.Cmd, io.Reader) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), childRole+"="+role, childPath+"="+path, childName+"="+name)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // by its id; it may be gone
		_ = cmd.Wait()
	})
	return cmd, out
}

// acknowledged reads lines until there are as many as wanted, or no more.
func acknowledged(t *testing.T, out io.Reader, most int) map[string][]jobs.ID {
	t.Helper()
	told := map[string][]jobs.ID{}
	lines := bufio.NewScanner(out)
	for n := 0; n < most && lines.Scan(); n++ {
		what, number, _ := strings.Cut(lines.Text(), " ")
		id, err := jobs.ParseID(number)
		if err != nil {
			t.Fatal(err)
		}
		told[what] = append(told[what], id)
	}
	return told
}

func TestProcessesThatWriteToOneFileFinishEveryJobOnce(t *testing.T) {
	path := file(t)
	const processes = 3
	ends := map[jobs.ID]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range processes {
		cmd, out := start(t, "once", path, "worker-"+strconv.Itoa(i))
		wg.Go(func() {
			told := acknowledged(t, out, 1<<20)
			if err := cmd.Wait(); err != nil {
				t.Errorf("process %d: %v", i, err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, id := range told["finished"] {
				ends[id]++
			}
		})
	}
	wg.Wait()
	if want := processes * callers * each; len(ends) != want {
		t.Errorf("%d jobs were finished of %d", len(ends), want)
	}
	for id, n := range ends {
		if n != 1 {
			t.Errorf("job %s was finished %d times", id, n)
		}
	}
}

func TestWhatWasAcknowledgedIsThereAfterAKill(t *testing.T) {
	path := file(t)
	cmd, out := start(t, "endless", path, "doomed")
	told := acknowledged(t, out, 1500)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	rest := acknowledged(t, out, 1<<20) // what it has told before it died
	_ = cmd.Wait()
	s := open(t, path)
	checked := 0
	for _, acks := range []map[string][]jobs.ID{told, rest} {
		for what, ids := range acks {
			for _, id := range ids {
				j, err := s.Job(t.Context(), id)
				if err != nil || what == "finished" && j.State != jobs.Succeeded {
					t.Errorf("job %s, which was acknowledged as %s, is %s (%v)", id, what, j.State, err)
				}
				checked++
			}
		}
	}
	if checked < 1500 || len(told["finished"]) == 0 {
		t.Errorf("only %d acknowledgements were seen: %d finished", checked, len(told["finished"]))
	}
	var sound string
	if err := other(t, path).QueryRow("PRAGMA integrity_check").Scan(&sound); err != nil || sound != "ok" {
		t.Errorf("the file is %q (%v)", sound, err)
	}
}

func TestAFileThatIsOpenedTwiceInOneProcessStaysLocked(t *testing.T) {
	path := file(t)
	s := open(t, path)
	second, err := sqlite.Open(t.Context(), path, discard())
	if err == nil {
		err = second.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Enqueue(t.Context(), []jobs.Spec{spec("images")}); err != nil {
		t.Fatal(err)
	}
	cmd, _ := start(t, "look", path, "")
	if err := cmd.Wait(); err != nil {
		t.Errorf("look from another process: %v", err)
	}
}
