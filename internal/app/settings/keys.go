package settings

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
)

// minKey is the shortest signing key taken: 128 bits.
const minKey = 16

const keyFile = "signature-key-file"

// Keys are the signing keys of the file and of signature-keys, in that order.
// The first signs; all of them verify, so that keys can be changed without a
// moment in which URLs fail.
func (s Signing) Keys() ([][]byte, error) {
	var keys [][]byte
	if s.SignatureKeyFile != "" {
		content, err := os.ReadFile(s.SignatureKeyFile)
		if err != nil {
			why := cmp.Or(unreadable(s.SignatureKeyFile, false), reason(err))
			return nil, &Error{Key: keyFile, What: fmt.Sprintf("%q %s", s.SignatureKeyFile, why)}
		}
		if keys, err = ParseKeys(strings.Split(string(content), "\n")); err != nil {
			return nil, &Error{Key: keyFile, What: err.Error()}
		}
		if len(keys) == 0 {
			return nil, &Error{Key: keyFile, What: "holds no key; write one a line"}
		}
	}
	more, err := ParseKeys(s.SignatureKeys)
	if err != nil {
		return nil, &Error{Key: "signature-keys", What: err.Error()}
	}
	return append(keys, more...), nil
}

// ParseKeys reads one key a line: hex:…, base64:…, or the key's own bytes.
// Blank lines and lines that begin with # are passed over. Faults name the
// line, never the key.
func ParseKeys(lines []string) ([][]byte, error) {
	var keys [][]byte
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, err := parseKey(line)
		if err != nil {
			return nil, fmt.Errorf("key %d: %w", i+1, err)
		}
		if len(key) < minKey {
			return nil, fmt.Errorf("key %d has %d bytes; it must have %d or more", i+1, len(key), minKey)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

func parseKey(line string) ([]byte, error) {
	if digits, ok := strings.CutPrefix(line, "hex:"); ok {
		key, err := hex.DecodeString(digits)
		if err != nil {
			return nil, errors.New("has more than hexadecimal digits after its hex: prefix")
		}
		return key, nil
	}
	if letters, ok := strings.CutPrefix(line, "base64:"); ok {
		key, err := base64.StdEncoding.DecodeString(letters)
		if err != nil {
			return nil, errors.New("is not base64 after its base64: prefix")
		}
		return key, nil
	}
	return []byte(line), nil
}
