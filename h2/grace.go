package h2

import (
	"time"

	"github.com/spillway-media/spillway/h2/priority"
)

// A browser asks for all pictures of a page at once, but handlers answer one by
// one, and an empty socket takes in a millisecond what a slow link carries in
// 60: the previews of the first would go before the headers of the last. So when
// requests come after a rest, later phases wait until every handler has begun to
// answer, graceTime at most. What has no phases, or is alone, never waits.
const (
	graceTime = 2 * time.Millisecond
	graceRest = 50 * time.Millisecond
)

// grace is guarded by conn.mu.
type grace struct {
	silent int       // streams whose handler has given nothing yet
	until  time.Time // when the last grace ends or ended
	over   bool      // that has passed
}

// asked counts a stream that has been opened now.
func (g *grace) asked(st *stream, now time.Time) {
	st.silent = true
	g.silent++
	if now.Sub(g.until) > graceRest {
		g.until, g.over = now.Add(graceTime), false
	}
}

// answers takes note that a stream has something to send, or is closed.
func (g *grace) answers(st *stream) {
	if st.silent {
		st.silent = false
		g.silent--
	}
}

// holds says whether bytes of a phase are to wait for the headers of others.
func (g *grace) holds(phase priority.Phase, now func() time.Time) bool {
	if g.over || g.silent == 0 || phase == priority.Body || phase == priority.Header {
		return false
	}
	g.over = !now().Before(g.until)
	return !g.over
}
