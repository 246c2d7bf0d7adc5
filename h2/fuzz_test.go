package h2_test

import (
	"bytes"
	"io"
	"log" //nolint:depguard // http.Server logs with it
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/spillway-media/spillway/h2"
	"github.com/spillway-media/spillway/h2/priority"
	"github.com/spillway-media/spillway/internal/h2test"
)

// frames is what a client writes.
func frames(write func(fr *http2.Framer, block func(pairs ...string) []byte)) []byte {
	var out, block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	write(http2.NewFramer(&out, nil), func(pairs ...string) []byte {
		block.Reset()
		for i := 0; i+1 < len(pairs); i += 2 {
			_ = enc.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
		}
		return bytes.Clone(block.Bytes())
	})
	return out.Bytes()
}

// Whatever a client writes behind its preface, the connection ends when the
// client hangs up, nothing panics, and no handler is left behind.
func FuzzConnection(f *testing.F) {
	f.Add([]byte{})
	f.Add(frames(func(fr *http2.Framer, block func(...string) []byte) {
		_ = fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 7})
		_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block(h2test.Get("/")...), EndHeaders: true, EndStream: true})
		_ = fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
		_ = fr.WriteWindowUpdate(0, 1<<20)
		_ = fr.WriteWindowUpdate(1, 1<<20)
		_ = fr.WritePriorityUpdate(3, "u=1, i")
		_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: block(h2test.Post("/", "trailer", "sum")...), EndHeaders: true})
		_ = fr.WriteData(3, false, []byte("picture"))
		_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: block("sum", "7"), EndHeaders: true, EndStream: true})
		_ = fr.WriteRSTStream(1, http2.ErrCodeCancel)
		_ = fr.WritePing(false, [8]byte{1})
		_ = fr.WriteGoAway(0, http2.ErrCodeNo, nil)
	}))
	f.Add(frames(func(fr *http2.Framer, block func(...string) []byte) {
		_ = fr.WriteSettings()
		fields := block(h2test.Post("/", "expect", "100-continue", "content-length", "5")...)
		_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 5, BlockFragment: fields[:3], Priority: http2.PriorityParam{StreamDep: 3, Weight: 146, Exclusive: true}})
		_ = fr.WriteContinuation(5, true, fields[3:])
		_ = fr.WritePriority(5, http2.PriorityParam{StreamDep: 0, Weight: 219, Exclusive: true})
		_ = fr.WriteDataPadded(5, true, []byte("12345"), make([]byte, 9))
		_ = fr.WriteRawFrame(0xfe, 1, 5, []byte("unknown"))
	}))

	var mu sync.Mutex
	var logged strings.Builder
	hs := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = h2.SetPhase(w, priority.Header, 10)
			_, _ = io.Copy(w, r.Body)
			_ = h2.SetPhase(w, priority.Rest, -1)
			_, _ = w.Write(make([]byte, 100_000))
		}),
		ErrorLog: log.New(writerFunc(func(p []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			return logged.Write(p)
		}), "", 0),
		ReadHeaderTimeout: time.Minute,
	}
	server, err := h2.Configure(hs, h2.Config{StreamBuffer: 8 << 10, ConnBuffer: 16 << 10})
	if err != nil {
		f.Fatal(err)
	}
	listener := h2test.Listen()
	done := make(chan error, 1)
	go func() { done <- hs.Serve(listener) }()
	f.Cleanup(func() {
		_ = hs.Close()
		<-done
	})
	f.Fuzz(func(t *testing.T, data []byte) {
		conn, err := listener.Dial()
		if err != nil {
			t.Fatal(err)
		}
		read := make(chan struct{})
		go func() {
			defer close(read)
			_, _ = io.Copy(io.Discard, conn)
		}()
		if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write(data) // the server may hang up first
		_ = conn.Close()
		<-read
		for server.Stats().ConnectionsOpen > 0 {
			<-time.After(time.Millisecond)
		}
		mu.Lock()
		defer mu.Unlock()
		if strings.Contains(logged.String(), "panic") {
			t.Fatal(logged.String())
		}
	})
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
