package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"regexp"
)

// What lies in a cache folder besides 256 folders of entries.
const (
	lockFile    = "lock"
	journalFile = "purges"
	tempFolder  = "tmp"
)

// keyID and groupID begin the hashes of a key and a group. A file's name is
// made of them, so a listing of the folder is enough to find and to purge.
type (
	keyID   [16]byte
	groupID [8]byte
)

type name struct {
	key   keyID
	group groupID
}

var (
	entryPattern = regexp.MustCompile(`^[0-9a-f]{32}-[0-9a-f]{16}\.entry$`)
	tempPattern  = regexp.MustCompile(`^[0-9a-f]{32}-[0-9a-f]{16}\.[0-9]{1,20}\.part$`)
	fanPattern   = regexp.MustCompile(`^[0-9a-f]{2}$`)
)

func nameOf(key, group [sha256.Size]byte) name {
	return name{keyID(key[:16]), groupID(group[:8])}
}

func (n name) text() string {
	return hex.EncodeToString(n.key[:]) + "-" + hex.EncodeToString(n.group[:])
}

// path is where the entry lies below the cache folder.
func (n name) path() string {
	return filepath.Join(hex.EncodeToString(n.key[:1]), n.text()+".entry")
}

// parseName reads a file's name back; fan is the folder it lies in.
func parseName(fan, file string) (name, bool) {
	var n name
	if !entryPattern.MatchString(file) || file[:2] != fan {
		return n, false
	}
	// The pattern allows nothing that hex could refuse.
	_, _ = hex.Decode(n.key[:], []byte(file[:32]))
	_, _ = hex.Decode(n.group[:], []byte(file[33:49]))
	return n, true
}

// groupIDOf gives nil for the empty group, which stands for all.
func groupIDOf(group string) *groupID {
	if group == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(group))
	id := groupID(sum[:8])
	return &id
}
