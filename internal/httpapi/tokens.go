package httpapi

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Token is one line of a token file: who may ask, known by a hash only.
type Token struct {
	Name string
	// ReadOnly tokens may ask, and change nothing.
	ReadOnly bool
	hash     [sha256.Size]byte
}

// Tokens are those that open /v1.
type Tokens []Token

// tokenPrefix lets a scanner for leaked secrets know what it has found.
const tokenPrefix = "spillway_"

// NewToken makes a token, and the line of a token file that lets it in. A
// token has 256 random bits, so that its plain hash cannot be turned back.
func NewToken(name string, readOnly bool) (token, line string, err error) {
	if !isPlainID(name) {
		return "", "", fmt.Errorf("token name: %.80q is not 1 to 64 letters, digits, -, _ and dots", name)
	}
	var raw [32]byte
	rand.Read(raw[:]) // never fails
	token = tokenPrefix + base64.RawURLEncoding.EncodeToString(raw[:])
	sum := sha256.Sum256([]byte(token))
	line = name + " sha256:" + hex.EncodeToString(sum[:])
	if readOnly {
		line += " read"
	}
	return token, line, nil
}

// ParseTokens reads a token file: lines of a name, sha256: with the token's
// hash in hexadecimal and, for one that may only ask, the word read. Empty
// lines and those that begin with # say nothing. Faults name the line, never
// what stands in it: somebody may have put the token itself there.
func ParseTokens(file []byte) (Tokens, error) {
	var tokens Tokens
	var errs []error
	names := map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(file))
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		token, err := parseToken(fields)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("line %d: %w", n, err))
		case names[token.Name]:
			errs = append(errs, fmt.Errorf("line %d: the name %s stands there twice", n, token.Name))
		default:
			names[token.Name] = true
			tokens = append(tokens, token)
		}
	}
	if err := lines.Err(); err != nil {
		errs = append(errs, fmt.Errorf("read lines: %w", err))
	}
	return tokens, errors.Join(errs...)
}

func parseToken(fields []string) (Token, error) {
	if len(fields) > 3 || len(fields) < 2 || len(fields) == 3 && fields[2] != "read" {
		return Token{}, errors.New("it is not a name, sha256: with a hash, and perhaps the word read")
	}
	token := Token{Name: fields[0], ReadOnly: len(fields) == 3}
	if !isPlainID(token.Name) {
		return Token{}, errors.New("its name is not 1 to 64 letters, digits, -, _ and dots")
	}
	text, found := strings.CutPrefix(fields[1], "sha256:")
	hash, err := hex.DecodeString(text)
	if !found || err != nil || len(hash) != sha256.Size {
		return Token{}, errors.New("its second word is not sha256: and 64 hexadecimal digits")
	}
	token.hash = [sha256.Size]byte(hash)
	return token, nil
}

// find looks at every token, whichever fits, and compares hashes in constant
// time: how long it takes tells nothing.
func (t Tokens) find(given string) (found Token, ok bool) {
	sum := sha256.Sum256([]byte(given))
	for _, token := range t {
		if subtle.ConstantTimeCompare(sum[:], token.hash[:]) == 1 {
			found, ok = token, true
		}
	}
	return found, ok
}
