package chaos_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// crew is a number of worker processes. The test's goroutine owns it.
type crew struct {
	place   *place
	dir     string
	started int

	alive  []*hand // at work
	left   []*hand // asked to leave
	killed int
}

// hand is one process. It writes its tally when it leaves by itself.
type hand struct {
	command *exec.Cmd
	tally   string
	stderr  bytes.Buffer
	ended   chan struct{}
}

func newCrew(t *testing.T, p *place, n int) *crew {
	t.Helper()
	c := &crew{place: p, dir: t.TempDir()}
	t.Cleanup(c.end)
	for range n {
		c.hire(t)
	}
	return c
}

// hire starts one more process of this test's binary.
func (c *crew) hire(t *testing.T) *hand {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c.started++
	h := &hand{tally: filepath.Join(c.dir, strconv.Itoa(c.started)), ended: make(chan struct{})}
	h.command = exec.Command(self)
	h.command.Env = append(os.Environ(), append(c.place.env, "CHAOS_WORKER="+strconv.Itoa(c.started), "CHAOS_TALLY="+h.tally)...)
	h.command.Stderr = &h.stderr
	h.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := h.start(); err != nil {
		t.Fatal(err)
	}
	c.alive = append(c.alive, h)
	return h
}

// start keeps the thread that started the process until that is gone: its end
// would be taken for that of the parent.
func (h *hand) start() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := h.command.Start()
		started <- err
		if err == nil {
			_ = h.command.Wait()
			close(h.ended)
		}
	}()
	return <-started
}

func (h *hand) signal(s syscall.Signal) { _ = h.command.Process.Signal(s) }

// take removes a random hand from the crew.
func (c *crew) take() *hand {
	i := rand.IntN(len(c.alive))
	h := c.alive[i]
	c.alive = append(c.alive[:i], c.alive[i+1:]...)
	return h
}

// kill ends one without a word and hires another.
func (c *crew) kill(t *testing.T) {
	t.Helper()
	h := c.take()
	h.signal(syscall.SIGKILL)
	<-h.ended
	c.killed++
	c.hire(t)
}

// refill hires for each hand that has died, and says how many had.
func (c *crew) refill(t *testing.T) (died int) {
	t.Helper()
	for _, h := range slices.Clone(c.alive) {
		select {
		case <-h.ended:
			died++
			c.alive = slices.DeleteFunc(c.alive, func(other *hand) bool { return other == h })
			c.hire(t)
		default:
		}
	}
	return died
}

// freeze stops one for longer than its lease; then it goes on as if nothing
// had happened.
func (c *crew) freeze(t *testing.T) {
	t.Helper()
	h := c.alive[rand.IntN(len(c.alive))]
	h.signal(syscall.SIGSTOP)
	pause(t, lease+lease/2)
	h.signal(syscall.SIGCONT)
}

// dismiss asks one to leave, and hires another.
func (c *crew) dismiss(t *testing.T) {
	t.Helper()
	h := c.take()
	h.signal(syscall.SIGTERM)
	c.hire(t)
	c.left = append(c.left, h)
}

// harm is what can be done to workers anywhere.
func (c *crew) harm() []harm {
	return []harm{{"worker killed", c.kill}, {"worker stopped past its lease", c.freeze}, {"worker asked to leave", c.dismiss}, {"worker killed", c.kill}}
}

// stop asks all to leave and gives what they tell.
func (c *crew) stop(t *testing.T) (told []tally, killed int) {
	t.Helper()
	for _, h := range c.alive {
		h.signal(syscall.SIGTERM)
	}
	c.left, c.alive = append(c.left, c.alive...), nil
	for _, h := range c.left {
		select {
		case <-h.ended:
		case <-time.After(time.Minute):
			t.Fatalf("a worker did not leave within a minute of being asked to:\n%s", h.stderr.String())
		}
		told = append(told, h.told(t))
	}
	return told, c.killed
}

// end leaves no process, whatever the test came to.
func (c *crew) end() {
	for _, h := range append(c.alive, c.left...) {
		h.signal(syscall.SIGKILL)
		<-h.ended
	}
}
