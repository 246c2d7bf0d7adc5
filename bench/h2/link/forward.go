package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Forward is a port on the machine's own network whose connections lead across
// the link, for clients that cannot be handed one.
type Forward struct {
	Address  string
	listener net.Listener
	stop     context.CancelFunc
	group    sync.WaitGroup
}

// Forward opens such a port towards an address on the link, delay away.
func (l *Link) Forward(ctx context.Context, address string, delay time.Duration) (*Forward, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the link: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	f := &Forward{Address: listener.Addr().String(), listener: listener, stop: stop}
	f.group.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return // Close has closed it
			}
			f.group.Go(func() { l.join(ctx, near, address, delay) })
		}
	})
	return f, nil
}

// join copies in both directions until either ends, or the forward does.
func (l *Link) join(ctx context.Context, near net.Conn, address string, delay time.Duration) {
	defer near.Close()
	conn, err := l.Dial(ctx, address)
	if err != nil {
		return // the client sees its connection closed
	}
	distant := Far(conn, delay)
	var both sync.WaitGroup
	cut := sync.OnceFunc(func() { _ = errors.Join(near.Close(), distant.Close()) })
	defer context.AfterFunc(ctx, cut)()
	both.Go(func() { defer cut(); _, _ = io.Copy(near, distant) })
	both.Go(func() { defer cut(); _, _ = io.Copy(distant, near) })
	both.Wait()
}

// Close ends all connections.
func (f *Forward) Close() error {
	err := f.listener.Close()
	f.stop()
	f.group.Wait()
	return err
}
