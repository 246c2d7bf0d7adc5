package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/spillway-media/spillway/h2"
	"github.com/spillway-media/spillway/internal/app/settings"
)

// headerRoom is what a request's header may have besides its target.
const headerRoom = 32 << 10

// door is one listener and the server behind it.
type door struct {
	name     string // "public" or "admin"
	server   *http.Server
	listener net.Listener
	h2       *h2.Server // nil when HTTP/2 is Go's own, or off
	present  attendance
	secure   bool
	// fingerprint is that of a certificate nobody else vouches for.
	fingerprint string
}

// doorNames are what operators are shown, by the setting with the address.
var doorNames = map[string]string{"listen": "public", "admin-listen": "admin"}

// openDoor begins to listen on the address of the setting called key;
// connections wait until serve is called. Without credentials it speaks in clear.
func openDoor(ctx context.Context, key, address string, own *credentials, c settings.Config, handler http.Handler, log *slog.Logger) (*door, error) {
	d := &door{name: doorNames[key], server: newServer(c, handler, log)}
	d.server.Handler = d.present.take(d.server.Handler)
	if own != nil {
		d.server.TLSConfig, d.secure, d.fingerprint = own.config(), true, own.fingerprint
	}
	if err := d.speak(c); err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, listenFault(key, address, err)
	}
	d.listener = listener
	return d, nil
}

// listenFault names the setting; the system's error says the address again.
func listenFault(key, address string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s: %s is already in use; stop what uses it, or choose another port", key, address)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s: %s is not an address of this machine", key, address)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%s: %s is not for this user to listen on; ports below 1024 take a privilege", key, address)
	}
	if operation, ok := errors.AsType[*net.OpError](err); ok {
		err = operation.Err
	}
	return fmt.Errorf("%s: cannot listen on %s: %w", key, address, err)
}

// newServer bounds everything a client can be slow or large in, except the
// time a whole answer takes: a big picture over a thin line is no fault. A
// client that takes no bytes at all is dropped by the edge's write deadlines.
func newServer(c settings.Config, handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           takeBodies(handler, c.HeaderTimeout),
		ReadHeaderTimeout: c.HeaderTimeout,
		IdleTimeout:       c.IdleTimeout,
		MaxHeaderBytes:    c.MaxURLBytes + headerRoom,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// longestBody is more than any client sends by mistake with a GET.
const longestBody = 64 << 10

// bodyTaker is a handler that reads some bodies itself, within its own limits.
type bodyTaker interface{ TakesBody(*http.Request) bool }

// takeBodies reads the body of a request, unless its route wants it, before the
// request is answered, and gives it a moment to arrive. Over HTTP/1.1 only once
// it has ended does net/http notice that a client leaves, and it would wait for
// ever for the rest of a body after the answer. Over HTTP/2 an answer that comes
// before the body has ended is followed by RST_STREAM (RFC 9113, 8.1), which some
// clients take for the loss of the answer; and a body that is not as long as it
// claims is an error only while somebody listens.
func takeBodies(next http.Handler, patience time.Duration) http.Handler {
	taker, _ := next.(bodyTaker)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == 0 || taker != nil && taker.TakesBody(r) {
			next.ServeHTTP(w, r)
			return
		}
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Now().Add(patience))
		n, err := io.Copy(io.Discard, io.LimitReader(r.Body, longestBody+1))
		switch {
		case n > longestBody:
			refuse(w, r, "This route takes no body.", http.StatusRequestEntityTooLarge)
			return
		case err != nil:
			refuse(w, r, "The body of the request did not arrive.", http.StatusRequestTimeout)
			return
		}
		_ = control.SetReadDeadline(time.Time{})
		next.ServeHTTP(w, r)
	})
}

// refuse answers before a body has ended. Over HTTP/1.1 there is no way to the
// next request but through the rest of it.
func refuse(w http.ResponseWriter, r *http.Request, words string, status int) {
	if r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close")
	}
	http.Error(w, words, status)
}

// serve answers until the door is shut; only an unasked end is an error.
func (d *door) serve() error {
	var err error
	if d.secure {
		err = d.server.ServeTLS(d.listener, "", "")
	} else {
		err = d.server.Serve(d.listener)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve on %s: %w", d.listener.Addr(), err)
}

// address is the one clients can use, with the real port.
func (d *door) address() string { return d.listener.Addr().String() }

// url is where a browser of this machine finds it. What stands for all addresses
// is none to go to, and no certificate names it.
func (d *door) url() string {
	host := d.address()
	if tcp, ok := d.listener.Addr().(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		host = net.JoinHostPort("localhost", strconv.Itoa(tcp.Port))
	}
	if d.secure {
		return "https://" + host + "/"
	}
	return "http://" + host + "/"
}

// facts are what an operator is told of a door that is open.
func (d *door) facts() []any {
	facts := []any{"address", d.address(), "url", d.url()}
	if d.fingerprint != "" {
		facts = append(facts, "certificate_sha256", d.fingerprint)
	}
	return facts
}
