package blob

import (
	"fmt"
	"path"
	"strings"
)

// MaxKey is the longest key in bytes, and maxSegment that of a part of one:
// what file systems hold, with room for a name of our own.
const (
	MaxKey     = 512
	maxSegment = 200
)

const keyLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

// CheckKey accepts keys that mean the same in every store and in a URL: parts
// of letters, digits, dots, - and _ with single slashes between them, of which
// none begins with a dot. The error is ErrKey.
func CheckKey(key string) error {
	if key == "" || len(key) > MaxKey {
		return fmt.Errorf("%w: it has %d bytes; 1 to %d are allowed", ErrKey, len(key), MaxKey)
	}
	for part := range strings.SplitSeq(key, "/") {
		switch {
		case part == "" || part[0] == '.':
			return fmt.Errorf("%w: %.100q has a part that is empty or begins with a dot", ErrKey, key)
		case len(part) > maxSegment:
			return fmt.Errorf("%w: %.100q has a part of %d bytes; %d are allowed", ErrKey, key, len(part), maxSegment)
		case strings.Trim(part, keyLetters) != "":
			return fmt.Errorf("%w: %.100q holds other characters than letters, digits, dots, - and _", ErrKey, key)
		}
	}
	return nil
}

// checkPrefix accepts the beginning of a key, the empty one included.
func checkPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	return CheckKey(strings.TrimSuffix(prefix, "/"))
}

// contentTypes are those of the names that jobs give to what they make.
var contentTypes = map[string]string{
	".avif": "image/avif", ".gif": "image/gif", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".jxl": "image/jxl",
	".png": "image/png", ".tif": "image/tiff", ".tiff": "image/tiff", ".webp": "image/webp",
	".json": "application/json", ".jsonl": "application/jsonl", ".pdf": "application/pdf",
	".txt": "text/plain; charset=utf-8", ".mp4": "video/mp4", ".webm": "video/webm",
	".m3u8": "application/vnd.apple.mpegurl", ".ts": "video/mp2t", ".vtt": "text/vtt; charset=utf-8",
}

// ContentType is the media type that the ending of a key stands for. There is
// no other: so a store in a folder tells the same as one in a bucket.
func ContentType(key string) string {
	if known, ok := contentTypes[strings.ToLower(path.Ext(key))]; ok {
		return known
	}
	return "application/octet-stream"
}
