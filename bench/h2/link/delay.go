package link

import (
	"net"
	"sync"
	"time"
)

// Chunks on their way in one direction, each of at most chunkSize. What the
// link carries in its delay is 38 KB; the rest is for a reader that is late.
// Data is taken from the socket as it comes, so none of it can wait there
// and be counted as unsent by the server.
const (
	chunkSize = 16 << 10
	underWay  = 256
)

// chunk is what came, and when it is there.
type chunk struct {
	bytes []byte
	due   time.Time
}

// far is a connection whose other end is further away than it is.
type far struct {
	net.Conn
	delay  time.Duration
	in     *lane
	out    *lane
	ended  sync.WaitGroup
	closed chan struct{}
	once   sync.Once
}

// lane is one direction.
type lane struct {
	chunks chan chunk
	rest   []byte // of the chunk that is being read
	err    error  // why no more comes; set before chunks is closed
}

// Far makes a connection that is delay further away in either direction. It
// reads from conn all the time, whatever its user does.
func Far(conn net.Conn, delay time.Duration) net.Conn {
	f := &far{Conn: conn, delay: delay, in: newLane(), out: newLane(), closed: make(chan struct{})}
	f.in.err = net.ErrClosed // unless it ends by itself
	f.ended.Go(f.receive)
	f.ended.Go(f.send)
	return f
}

func newLane() *lane { return &lane{chunks: make(chan chunk, underWay)} }

// receive takes what comes and says when it is to be seen.
func (f *far) receive() {
	defer close(f.in.chunks)
	buffer := make([]byte, chunkSize)
	for {
		n, err := f.Conn.Read(buffer)
		if n > 0 {
			c := chunk{append([]byte(nil), buffer[:n]...), time.Now().Add(f.delay)}
			select {
			case f.in.chunks <- c:
			case <-f.closed:
				return
			}
		}
		if err != nil {
			f.in.err = err
			return
		}
	}
}

// send passes on what was written once its time has come. What is due by then
// goes in one piece, as packets that were sent at once arrive at once.
func (f *far) send() {
	var next chunk
	for {
		if next.bytes == nil {
			select {
			case next = <-f.out.chunks:
			case <-f.closed:
				return
			}
		}
		if !f.wait(next.due) {
			return
		}
		due := next.bytes
		due, next = f.join(due, time.Now())
		if _, err := f.Conn.Write(due); err != nil {
			return
		}
	}
}

// join appends all chunks that are due by now, and gives the first that is not.
func (f *far) join(due []byte, now time.Time) ([]byte, chunk) {
	for {
		select {
		case c := <-f.out.chunks:
			if c.due.After(now) {
				return due, c
			}
			due = append(due, c.bytes...)
		default:
			return due, chunk{}
		}
	}
}

// wait blocks until due and tells whether the connection is still open.
func (f *far) wait(due time.Time) bool {
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-f.closed:
		return false
	}
}

// Read gives what has arrived at the client's end.
func (f *far) Read(p []byte) (int, error) {
	if len(f.in.rest) == 0 {
		select {
		case c, open := <-f.in.chunks:
			if !open {
				return 0, f.in.err
			}
			if !f.wait(c.due) {
				return 0, net.ErrClosed
			}
			f.in.rest = c.bytes
		case <-f.closed:
			return 0, net.ErrClosed
		}
	}
	n := copy(p, f.in.rest)
	f.in.rest = f.in.rest[n:]
	return n, nil
}

// Write sends p on its way.
func (f *far) Write(p []byte) (int, error) {
	c := chunk{append([]byte(nil), p...), time.Now().Add(f.delay)}
	select {
	case f.out.chunks <- c:
		return len(p), nil
	case <-f.closed:
		return 0, net.ErrClosed
	}
}

// Close closes the connection and waits for both directions to end.
func (f *far) Close() error {
	var err error
	f.once.Do(func() {
		close(f.closed)
		err = f.Conn.Close()
		f.ended.Wait()
	})
	return err
}
