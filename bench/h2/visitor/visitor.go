package visitor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Chromium's windows: what a server may send ahead on a stream, and what the
// connection's window is raised by at once.
const (
	streamWindow = 6291456
	connRaise    = 15663105
	connWindow   = connRaise + 65535
)

// Request is what is asked for, and what must come.
type Request struct {
	Path        string
	Urgency     uint8 // 0 to 4
	Incremental bool
	// Unchained leaves out the chain: then only the priority header counts.
	Unchained bool
	// Body is what must come; AnyBody takes whatever does.
	Body    []byte
	AnyBody bool
	// Marks are lengths of the body whose arrival is to be dated, in rising order.
	Marks []int64
}

// Answer is what came.
type Answer struct {
	Asked  time.Time
	Header time.Time   // when the HEADERS were there
	First  time.Time   // when the first byte of the body was there
	Last   time.Time   // when its end was
	Marks  []time.Time // when the first Marks[i] bytes were there
	Frames int         // DATA frames

	request Request
	stream  uint32
	status  string
	got     int64
	taken   int64 // of the stream's window, not given back yet
	done    chan struct{}
	err     error
}

// Wait blocks until the answer is whole or has failed.
func (a *Answer) Wait(ctx context.Context) error {
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
		return fmt.Errorf("wait for %s: %w", a.request.Path, ctx.Err())
	}
}

// Visitor is a client's end of a connection.
type Visitor struct {
	authority, scheme string
	conn              net.Conn
	dated             *dated
	fields            *hpack.Decoder
	ended             sync.WaitGroup

	mu      sync.Mutex // guards all that follows, and writing to framer
	framer  *http2.Framer
	block   bytes.Buffer
	encoder *hpack.Encoder
	chain   chain
	streams map[uint32]*Answer
	next    uint32
	taken   int64 // of the connection's window, not given back yet
	err     error
}

// Open greets the server as Chromium does. Close ends what it starts.
func Open(conn net.Conn, scheme, authority string) (*Visitor, error) {
	d := &dated{source: conn}
	v := &Visitor{
		authority: authority, scheme: scheme, conn: conn, dated: d, next: 1,
		framer: http2.NewFramer(conn, d), streams: map[uint32]*Answer{},
		fields: hpack.NewDecoder(65536, nil),
	}
	v.encoder = hpack.NewEncoder(&v.block)
	err := v.greet()
	if err != nil {
		return nil, fmt.Errorf("greet server: %w", err)
	}
	v.ended.Go(v.run)
	return v, nil
}

func (v *Visitor) greet() error {
	if _, err := io.WriteString(v.conn, http2.ClientPreface); err != nil {
		return err
	}
	return errors.Join(
		v.framer.WriteSettings(
			http2.Setting{ID: http2.SettingHeaderTableSize, Val: 65536},
			http2.Setting{ID: http2.SettingEnablePush, Val: 0},
			http2.Setting{ID: http2.SettingInitialWindowSize, Val: streamWindow},
			http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: 262144}),
		v.framer.WriteWindowUpdate(0, connRaise))
}

// Close ends the connection and fails what has not come.
func (v *Visitor) Close() error {
	err := v.conn.Close()
	v.ended.Wait()
	return err
}

// Ask sends a request.
func (v *Visitor) Ask(r Request) (*Answer, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err != nil {
		return nil, v.err
	}
	a := &Answer{request: r, stream: v.next, done: make(chan struct{}), Asked: time.Now(), Marks: make([]time.Time, len(r.Marks))}
	v.next += 2
	v.streams[a.stream] = a
	v.block.Reset()
	for _, f := range v.headers(r) {
		if err := v.encoder.WriteField(f); err != nil {
			return nil, fmt.Errorf("encode fields: %w", err)
		}
	}
	frame := http2.HeadersFrameParam{StreamID: a.stream, BlockFragment: v.block.Bytes(), EndStream: true, EndHeaders: true}
	if !r.Unchained {
		frame.Priority = v.chain.add(a.stream, r.Urgency)
	}
	if err := v.framer.WriteHeaders(frame); err != nil {
		return nil, fmt.Errorf("ask for %s: %w", r.Path, err)
	}
	return a, nil
}

func (v *Visitor) headers(r Request) []hpack.HeaderField {
	return []hpack.HeaderField{
		{Name: ":method", Value: "GET"}, {Name: ":authority", Value: v.authority},
		{Name: ":scheme", Value: v.scheme}, {Name: ":path", Value: r.Path},
		{Name: "user-agent", Value: "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36"},
		{Name: "accept", Value: "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8"},
		{Name: "accept-encoding", Value: "gzip, deflate, br, zstd"},
		{Name: "priority", Value: field(r)},
	}
}

// field is the priority header as Chromium writes it: u=3 goes without saying.
func field(r Request) string {
	switch {
	case r.Urgency == 3 && r.Incremental:
		return "i"
	case r.Incremental:
		return "u=" + strconv.Itoa(int(r.Urgency)) + ", i"
	default:
		return "u=" + strconv.Itoa(int(r.Urgency))
	}
}

// run reads until the connection ends.
func (v *Visitor) run() {
	err := v.readAll()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.err = fmt.Errorf("read from server: %w", err)
	for _, a := range v.streams {
		v.end(a, v.err)
	}
}

func (v *Visitor) readAll() error {
	for {
		v.dated.forget()
		frame, err := v.framer.ReadFrame()
		if err != nil {
			return err
		}
		if err := v.take(frame); err != nil {
			return err
		}
	}
}

func (v *Visitor) take(frame http2.Frame) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch f := frame.(type) {
	case *http2.SettingsFrame:
		if !f.IsAck() {
			return v.framer.WriteSettingsAck()
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			return v.framer.WritePing(true, f.Data)
		}
	case *http2.HeadersFrame:
		return v.takeHeaders(f)
	case *http2.DataFrame:
		return v.takeData(f)
	case *http2.RSTStreamFrame:
		if a := v.streams[f.StreamID]; a != nil {
			v.end(a, fmt.Errorf("%s was reset: %v", a.request.Path, f.ErrCode))
		}
	case *http2.GoAwayFrame:
		if f.ErrCode != http2.ErrCodeNo {
			return fmt.Errorf("server went away: %v", f.ErrCode)
		}
	}
	return nil
}

// takeHeaders wants a block in one frame, which the answers here are.
func (v *Visitor) takeHeaders(f *http2.HeadersFrame) error {
	if !f.HeadersEnded() {
		return errors.New("header block has more than one frame")
	}
	fields, err := v.fields.DecodeFull(f.HeaderBlockFragment())
	if err != nil {
		return fmt.Errorf("decode fields: %w", err)
	}
	a := v.streams[f.StreamID]
	if a == nil {
		return nil
	}
	for _, field := range fields {
		if field.Name == ":status" {
			a.status = field.Value
		}
	}
	a.Header = v.dated.when(v.dated.read)
	if f.StreamEnded() {
		v.finish(a)
	}
	return nil
}

func (v *Visitor) takeData(f *http2.DataFrame) error {
	a := v.streams[f.StreamID]
	if a == nil {
		return nil
	}
	data := f.Data()
	if !a.expects(data) {
		return fmt.Errorf("%s: other bytes came than expected, from %d on", a.request.Path, a.got)
	}
	a.Frames++
	start := v.dated.read - int64(len(data)) // no padding is expected from servers here
	for i, mark := range a.request.Marks {
		if mark > a.got && mark <= a.got+int64(len(data)) {
			a.Marks[i] = v.dated.when(start + mark - a.got)
		}
	}
	if a.got == 0 && len(data) > 0 {
		a.First = v.dated.when(start + 1)
	}
	a.got += int64(len(data))
	a.Last = v.dated.when(v.dated.read)
	if f.StreamEnded() {
		v.finish(a)
	}
	return v.giveBack(a, int64(f.Length))
}

// expects tells whether these are the next bytes that must come.
func (a *Answer) expects(data []byte) bool {
	if a.request.AnyBody {
		return true
	}
	left := a.request.Body[a.got:]
	return len(data) <= len(left) && bytes.Equal(data, left[:len(data)])
}

// giveBack returns windows once half of one is used, as Chromium does.
func (v *Visitor) giveBack(a *Answer, n int64) error {
	v.taken, a.taken = v.taken+n, a.taken+n
	var faults []error
	if v.taken > connWindow/2 {
		faults = append(faults, v.framer.WriteWindowUpdate(0, uint32(v.taken)))
		v.taken = 0
	}
	if a.taken > streamWindow/2 {
		faults = append(faults, v.framer.WriteWindowUpdate(a.stream, uint32(a.taken)))
		a.taken = 0
	}
	return errors.Join(faults...)
}

func (v *Visitor) finish(a *Answer) {
	switch {
	case a.status != "200":
		v.end(a, fmt.Errorf("%s was answered with %s", a.request.Path, a.status))
	case !a.request.AnyBody && a.got != int64(len(a.request.Body)):
		v.end(a, fmt.Errorf("%s ended after %d of %d bytes", a.request.Path, a.got, len(a.request.Body)))
	default:
		v.end(a, nil)
	}
}

func (v *Visitor) end(a *Answer, err error) {
	delete(v.streams, a.stream)
	if !a.request.Unchained {
		v.chain.remove(a.stream, a.request.Urgency)
	}
	a.err = err
	close(a.done)
}

// Done tells whether the answer is whole, or has failed.
func (a *Answer) Done() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}
