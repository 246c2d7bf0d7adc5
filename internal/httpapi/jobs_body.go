package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/spillway-media/spillway/internal/media"
)

// maxDocument bounds a JSON body: two jobs with all the params there may be,
// or a thousand of two kilobytes.
const maxDocument = 2 << 20

// awaitBody gives the body some time from now to arrive, or its next part.
func (a *jobsAPI) awaitBody(x *exchange) {
	_ = x.w.control.SetReadDeadline(time.Now().Add(a.cfg.BodyTimeout))
}

// bodyRead takes the deadline back. A connection that had one would end while
// its answer is made.
func bodyRead(x *exchange) { _ = x.w.control.SetReadDeadline(time.Time{}) }

// readDocument reads a JSON body whole, whatever the Content-Type says of it.
func (a *jobsAPI) readDocument(x *exchange) ([]byte, error) {
	text, err := io.ReadAll(http.MaxBytesReader(x.w.ResponseWriter, x.r.Body, maxDocument))
	if err != nil {
		return nil, bodyFault(x, err, codeBodyTooLarge)
	}
	bodyRead(x)
	return text, nil
}

// lastOfConnection ends it behind the answer, since what is left of the body
// would be in the way of another request. A stream of HTTP/2 ends by itself.
func lastOfConnection(x *exchange) {
	if x.r.ProtoMajor == 1 {
		x.w.Header().Set("Connection", "close")
	}
}

// bodyFault words the fault of a body, after which no other request can
// follow on its connection.
func bodyFault(x *exchange, err error, tooLarge media.Code) error {
	lastOfConnection(x)
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return media.Errorf(tooLarge, "The body has more than %d bytes.", large.Limit)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return media.Wrap(codeBodyTimeout, err, "The body did not arrive in time.")
	}
	return media.Wrap(codeInvalidBody, err, "The body of the request breaks off.")
}

// member is one field of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// members takes a JSON object apart, in the order it was written in. Unlike
// encoding/json it refuses names that stand twice, of which one would be lost.
func members(text []byte) ([]member, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if first, err := decoder.Token(); err != nil || first != json.Delim('{') {
		return nil, errors.New("it is not a JSON object")
	}
	var list []member
	seen := map[string]bool{}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, notJSON(err)
		}
		name, _ := key.(string)
		if seen[name] {
			return nil, fmt.Errorf("%.60q stands twice", name)
		}
		seen[name] = true
		m := member{name: name}
		if err := decoder.Decode(&m.value); err != nil {
			return nil, notJSON(err)
		}
		list = append(list, m)
	}
	if _, err := decoder.Token(); err != nil {
		return nil, notJSON(err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("more stands behind the JSON object")
	}
	return list, nil
}

// notJSON says where the text stops being JSON, and repeats nothing of it.
func notJSON(err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("it is not JSON from byte %d on", syntax.Offset)
	}
	return errors.New("it breaks off before the JSON object ends")
}

// writeJSON answers a document.
func (a *jobsAPI) writeJSON(x *exchange, status int, document any) error {
	body, err := json.Marshal(document)
	if err != nil {
		return fmt.Errorf("write document: %w", err)
	}
	x.w.Header().Set("Content-Type", "application/json")
	a.writeDocument(x, status, body)
	return nil
}
