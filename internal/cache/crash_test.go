package cache_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/cache"
)

// crashFolder is the variable that makes this test binary a process that
// fills the folder it names until it is killed.
const crashFolder = "SPILLWAY_TEST_CACHE_CRASH"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashFolder); dir != "" {
		fmt.Fprintln(os.Stderr, fillForEver(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

const (
	crashLimit = 6 << 20
	crashKeys  = 40
)

func crashConfig(dir string) cache.DiskConfig {
	return cache.DiskConfig{Dir: dir, Limit: crashLimit, Each: 1 << 20}
}

// fillForEver puts and gets from four sides; it returns when something is wrong.
func fillForEver(dir string) error {
	d, err := cache.OpenDisk(crashConfig(dir), slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	fmt.Println("ready")
	failed := make(chan error)
	for range 4 {
		go func() {
			for {
				if err := fillOnce(d); err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	return <-failed
}

func fillOnce(d *cache.Disk) error {
	key := "key " + strconv.Itoa(rand.IntN(crashKeys))
	if rand.IntN(3) == 0 {
		if e, ok := d.Get(key); ok {
			defer e.Close()
			return checkSeeded(e)
		}
		return nil
	}
	seed, size := rand.Uint64(), rand.IntN(600<<10)
	if rand.IntN(4) == 0 {
		size = rand.IntN(20 << 10)
	}
	meta := binary.LittleEndian.AppendUint64(nil, seed)
	whole := seeded(seed, size)
	err := d.Put(key, "group "+strconv.Itoa(rand.IntN(3)), meta, whole[:size/3], whole[size/3:])
	if errors.Is(err, cache.ErrFull) {
		return nil
	}
	return err
}

// seeded is bytes that only their seed makes.
func seeded(seed uint64, size int) []byte {
	source := rand.NewPCG(seed, 4)
	b := make([]byte, 0, size+8)
	for len(b) < size {
		b = binary.LittleEndian.AppendUint64(b, source.Uint64())
	}
	return b[:size]
}

func checkSeeded(e *cache.Entry) error {
	if len(e.Meta) != 8 || len(e.Parts) != 2 {
		return fmt.Errorf("an entry has %d bytes of meta and %d parts", len(e.Meta), len(e.Parts))
	}
	whole := bytes.Join(e.Parts, nil)
	if !bytes.Equal(whole, seeded(binary.LittleEndian.Uint64(e.Meta), len(whole))) {
		return fmt.Errorf("an entry of %d bytes is not what was put", len(whole))
	}
	return nil
}

// TestAProcessKilledInTheMiddleOfWritesLeavesNothingBroken kills five times,
// and a hundred with SPILLWAY_HEAVY (make test-crash-cache), always on one
// folder, so that what an earlier kill broke would be found later.
func TestAProcessKilledInTheMiddleOfWritesLeavesNothingBroken(t *testing.T) {
	kills := 5
	if os.Getenv("SPILLWAY_HEAVY") == "1" {
		kills = 100
	}
	dir := t.TempDir()
	var whole, halves, inStart int
	for i := range kills {
		if !killWriter(t, dir, i) {
			inStart++
		}
		found, half := checkAfterKill(t, dir)
		whole, halves = whole+found, halves+half
		if t.Failed() {
			t.Fatalf("after kill %d", i+1)
		}
	}
	t.Logf("summary: %d kills, %d of them before the folder was open; %d entries read and right; %d files were half written", kills, inStart, whole, halves)
	if whole == 0 || (kills >= 100 && halves == 0) {
		t.Errorf("%d entries were found and %d were half written: the kills met no writes", whole, halves)
	}
}

// killWriter starts the process, lets it go on for a random time and kills it.
// It tells whether it had opened the folder by then.
func killWriter(t *testing.T, dir string, round int) bool {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), crashFolder+"="+dir)
	var faults bytes.Buffer
	command.Stderr = &faults
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ready, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		if line, _ := bufio.NewReader(output).ReadString('\n'); line == "ready\n" {
			close(ready)
		}
		_ = command.Wait()
	}()
	most := 60 * time.Millisecond
	if round%10 == 9 { // is killed while it starts
		most = 8 * time.Millisecond
	} else {
		select {
		case <-ready:
		case <-ended:
		}
	}
	life := time.NewTimer(rand.N(most))
	defer life.Stop()
	select {
	case <-life.C:
	case <-ended:
	}
	if round%3 == 0 {
		if _, err := cache.PurgeFolder(dir, "group 1"); err != nil {
			t.Error(err)
		}
	}
	_ = command.Process.Kill() // which fails when it has ended, and then it has told why
	<-ended
	if faults.Len() > 0 {
		t.Errorf("the process found a fault: %s", faults.String())
	}
	select {
	case <-ready:
		return true
	default:
		return false
	}
}

// checkAfterKill looks at the folder as the kill left it, opens it, and reads
// every entry.
func checkAfterKill(t *testing.T, dir string) (found, halves int) {
	t.Helper()
	bytes, halves := usage(t, dir)
	if bytes > crashLimit {
		t.Errorf("the kill left %d bytes, over the limit of %d", bytes, crashLimit)
	}
	d := open(t, crashConfig(dir))
	defer shut(t, d)
	if bytes, temporary := usage(t, dir); bytes > crashLimit || temporary > 0 {
		t.Errorf("opened again the folder has %d bytes and %d temporary files", bytes, temporary)
	}
	entries := d.Stats().Entries
	var wait sync.WaitGroup
	for i := range crashKeys {
		e, ok := d.Get("key " + strconv.Itoa(i))
		if !ok {
			continue
		}
		found++
		wait.Go(func() {
			defer e.Close()
			if err := checkSeeded(e); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if s := d.Stats(); s.Broken > 0 || found != entries {
		t.Errorf("%d of %d entries can be read; stats = %+v", found, entries, s)
	}
	return found, halves
}
