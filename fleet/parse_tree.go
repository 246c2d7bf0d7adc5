package fleet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// node is one value of the file, before it is known what it stands for.
type node struct {
	kind   string // as a fault names it: "an object", "a number", ...
	text   string // of a string, and of a number as it is written
	yes    bool
	keys   []string // of an object, as they stand in the file
	fields map[string]*node
	items  []*node
}

const (
	anObject = "an object"
	aList    = "a list"
	aText    = "a string"
	aNumber  = "a number"
	aTruth   = "true or false"
	aNull    = "null"
)

// maxDepth is more than the deepest key has, and keeps a hostile file from
// using up the stack.
const maxDepth = 16

// readTree reads the file as one JSON object. A key that stands twice is a
// fault: which of the two is meant cannot be known.
func readTree(file []byte, f *faults) *node {
	dec := json.NewDecoder(bytes.NewReader(file))
	dec.UseNumber()
	root, err := readNode(dec, "", 0, f)
	if err == nil {
		if _, more := dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the closing brace")
		}
	}
	if err != nil {
		f.add("", "line %d is no valid JSON: %v", lineOf(file, dec, err), err)
		return nil
	}
	if root.kind != anObject {
		f.add("", "must be an object, not %s", root.kind)
		return nil
	}
	return root
}

func lineOf(file []byte, dec *json.Decoder, err error) int {
	offset := dec.InputOffset()
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = syntax.Offset
	}
	return 1 + bytes.Count(file[:min(max(offset, 0), int64(len(file)))], []byte("\n"))
}

func readNode(dec *json.Decoder, path string, depth int, f *faults) (*node, error) {
	if depth > maxDepth {
		return nil, errors.New("it is nested too deeply")
	}
	token, err := dec.Token()
	if err != nil {
		return nil, endsEarly(err)
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return readObject(dec, path, depth, f)
		}
		return readList(dec, path, depth, f)
	case string:
		return &node{kind: aText, text: t}, nil
	case json.Number:
		return &node{kind: aNumber, text: t.String()}, nil
	case bool:
		return &node{kind: aTruth, yes: t}, nil
	default:
		return &node{kind: aNull}, nil
	}
}

func endsEarly(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends too early")
	}
	return err
}

func readObject(dec *json.Decoder, path string, depth int, f *faults) (*node, error) {
	n := &node{kind: anObject, fields: map[string]*node{}}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, endsEarly(err)
		}
		key, _ := token.(string) // the decoder takes nothing else for a key
		field, err := readNode(dec, join(path, key), depth+1, f)
		if err != nil {
			return nil, err
		}
		if n.fields[key] != nil {
			f.add(join(path, key), "stands twice")
			continue
		}
		n.keys = append(n.keys, key)
		n.fields[key] = field
	}
	_, err := dec.Token()
	return n, endsEarlyOrNil(err)
}

func readList(dec *json.Decoder, path string, depth int, f *faults) (*node, error) {
	n := &node{kind: aList}
	for dec.More() {
		item, err := readNode(dec, fmt.Sprintf("%s[%d]", path, len(n.items)), depth+1, f)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
	}
	_, err := dec.Token()
	return n, endsEarlyOrNil(err)
}

func endsEarlyOrNil(err error) error {
	if err == nil {
		return nil
	}
	return endsEarly(err)
}

// join makes the path of a key below another.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
