package notify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Sign makes the value of Spillway-Signature: the time in Unix seconds, and an
// HMAC-SHA256 in hexadecimal over the time, a dot and the body. With the time
// in it, an old notice cannot be sent again as a new one.
func Sign(key, body []byte, at time.Time) string {
	seconds := strconv.FormatInt(at.Unix(), 10)
	return "t=" + seconds + ",v1=" + hex.EncodeToString(mac(key, seconds, body))
}

// Verify is for who receives notices: nil when the signature is that of key
// over body, and not more than tolerance away from now.
func Verify(key, body []byte, signature string, now time.Time, tolerance time.Duration) error {
	at, given, ok := splitSignature(signature)
	if !ok {
		return errors.New("webhook signature: it is not t=UNIX,v1=HEX")
	}
	if !hmac.Equal(given, mac(key, at, body)) {
		return errors.New("webhook signature: it is not of this key and body")
	}
	unix, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return errors.New("webhook signature: its time is no number")
	}
	if age := now.Sub(time.Unix(unix, 0)); age > tolerance || age < -tolerance {
		return fmt.Errorf("webhook signature: it was made %s away from now, more than %s", age, tolerance)
	}
	return nil
}

func splitSignature(text string) (at string, given []byte, ok bool) {
	first, second, _ := strings.Cut(text, ",")
	at, isTime := strings.CutPrefix(first, "t=")
	digits, isMAC := strings.CutPrefix(second, "v1=")
	given, err := hex.DecodeString(digits)
	return at, given, isTime && isMAC && err == nil
}

func mac(key []byte, at string, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(at + "."))
	h.Write(body)
	return h.Sum(nil)
}
