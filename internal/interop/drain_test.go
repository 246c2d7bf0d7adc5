package interop_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestStoppingUnderLoadLosesNothing tells the server to stop while h2load asks
// it for pictures that have to be made. All that the server took up has to have
// come: as many answers of each status, and as many bytes. (h2load counts as
// begun also what it never sent, because GOAWAY came with the answer before.)
func TestStoppingUnderLoadLosesNothing(t *testing.T) {
	for _, at := range sites {
		t.Run(at.name, func(t *testing.T) {
			s := serve(t, at)
			var urls strings.Builder
			for n := range 6000 { // no two alike
				urls.WriteString(s.at(picture(n, 100+n/pictures, "&format=jpeg")) + "\n")
			}
			file := filepath.Join(t.TempDir(), "urls")
			if err := os.WriteFile(file, []byte(urls.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			peer := exec.CommandContext(t.Context(), tool(t, "h2load"), "-n", "6000", "-c", "2", "-m", "20", "-i", file)
			peer.Stdout, peer.Stderr = &out, &out
			if err := peer.Start(); err != nil {
				t.Fatal(err)
			}
			s.await(t, 200)
			s.stop(t)
			_ = peer.Wait() // that requests failed is what it counts
			got := counted(t, out.String())
			var answers [4]int
			var bytes int64
			for _, e := range s.requests("assets") {
				answers[e.Status/100-2]++
				bytes += e.Bytes
			}
			if got.status != answers || got.bytes != bytes {
				t.Errorf("the server answered %v with %d bytes, of which came %v", answers, bytes, got)
			}
			if got.status[0] < 200 || got.status[0] == got.total {
				t.Errorf("it was not stopped in the middle: %v", got)
			}
			t.Logf("summary: stopped under h2load %s: %d of %d answers came, with %d of %d bytes", at.name, sum(got.status), sum(answers), got.bytes, bytes)
		})
	}
}

func sum(of [4]int) int { return of[0] + of[1] + of[2] + of[3] }

// await returns when the server has answered some requests for pictures.
func (s *server) await(t *testing.T, n int) {
	t.Helper()
	timeout := time.After(patience)
	for len(s.requests("assets")) < n {
		select {
		case <-s.noted:
		case <-s.exited:
			t.Fatal("the server has ended")
		case <-timeout:
			t.Fatalf("%d requests are not answered", n)
		}
	}
}
