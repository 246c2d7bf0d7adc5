package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// errEnded is the answer to what is asked of a browser that is gone.
var errEnded = errors.New("chromium has ended")

// message is what Chromium sends: an answer when it has an ID, or an event.
type message struct {
	ID        int             `json:"id"`
	Method    string          `json:"method"`
	Params    json.RawMessage `json:"params"`
	SessionID string          `json:"sessionId"`
	Result    json.RawMessage `json:"result"`
	Error     *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// pipe carries commands one way and answers and events the other, each a JSON
// object and a zero byte.
type pipe struct {
	out  *os.File
	in   *os.File
	done chan struct{} // closed when Chromium shut its end

	mu      sync.Mutex
	last    int
	waiting map[int]chan message
	events  map[string]func(method string, params json.RawMessage) // by session
}

func newPipe(in, out *os.File) *pipe {
	return &pipe{
		in: in, out: out, done: make(chan struct{}),
		waiting: map[int]chan message{}, events: map[string]func(string, json.RawMessage){},
	}
}

// read hands answers to those who wait and events to their listeners, in order,
// until Chromium shuts its end.
func (p *pipe) read() {
	defer close(p.done)
	in := bufio.NewReaderSize(p.in, 64<<10)
	for {
		line, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line[:len(line)-1], &m) == nil {
			p.deliver(m)
		}
	}
}

func (p *pipe) deliver(m message) {
	p.mu.Lock()
	waiter, listener := p.waiting[m.ID], p.events[m.SessionID]
	if m.ID != 0 {
		delete(p.waiting, m.ID)
	}
	p.mu.Unlock()
	switch {
	case m.ID != 0 && waiter != nil:
		waiter <- m
	case m.ID == 0 && listener != nil:
		listener(m.Method, m.Params)
	}
}

// listen names who gets the events of a session, which must not block; nil
// ends it.
func (p *pipe) listen(session string, f func(method string, params json.RawMessage)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f == nil {
		delete(p.events, session)
		return
	}
	p.events[session] = f
}

// send writes a command; its answer comes out of the channel.
func (p *pipe) send(session, method string, params any) (id int, answer chan message, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	body, err := json.Marshal(struct {
		ID        int    `json:"id"`
		Method    string `json:"method"`
		Params    any    `json:"params,omitempty"`
		SessionID string `json:"sessionId,omitempty"`
	}{p.last, method, params, session})
	if err != nil {
		return 0, nil, err
	}
	answer = make(chan message, 1)
	p.waiting[p.last] = answer
	if _, err := p.out.Write(append(body, 0)); err != nil {
		delete(p.waiting, p.last)
		return 0, nil, err
	}
	return p.last, answer, nil
}

// call sends a command and waits for its answer.
func (p *pipe) call(ctx context.Context, session, method string, params, out any) error {
	id, answer, err := p.send(session, method, params)
	if err != nil {
		return fmt.Errorf("send %s: %w", method, err)
	}
	select {
	case m := <-answer:
		return m.decode(method, out)
	case <-p.done:
		return fmt.Errorf("%s: %w", method, errEnded)
	case <-ctx.Done():
		p.mu.Lock()
		delete(p.waiting, id)
		p.mu.Unlock()
		return fmt.Errorf("%s: %w", method, ctx.Err())
	}
}

func (m message) decode(method string, out any) error {
	if m.Error != nil {
		return fmt.Errorf("%s: %s", method, m.Error.Message)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(m.Result, out); err != nil {
		return fmt.Errorf("read answer to %s: %w", method, err)
	}
	return nil
}

func (p *pipe) close() error { return errors.Join(closed(p.out), closed(p.in)) }

func closed(c io.Closer) error {
	if err := c.Close(); err != nil {
		return fmt.Errorf("close pipe: %w", err)
	}
	return nil
}
