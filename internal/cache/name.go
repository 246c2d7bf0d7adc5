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
	entryEnding = ".entry"
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
	tempPattern = regexp.MustCompile(`^[0-9a-f]{32}-[0-9a-f]{16}\.[0-9]{1,20}\.part$`)
	fanPattern  = regexp.MustCompile(`^[0-9a-f]{2}$`)
)

func nameOf(key, group [sha256.Size]byte) name {
	return name{keyID(key[:16]), groupID(group[:8])}
}

func (n name) text() string {
	return hex.EncodeToString(n.key[:]) + "-" + hex.EncodeToString(n.group[:])
}

// path is where the entry lies below the cache folder.
func (n name) path() string {
	return filepath.Join(hex.EncodeToString(n.key[:1]), n.text()+entryEnding)
}

// parseName reads a file's name back; fan is the folder it lies in. There may
// be a million of them at the start, so this goes without a pattern.
func parseName(fan, file string) (name, bool) {
	var n name
	if len(file) != 2*len(n.key)+1+2*len(n.group)+len(entryEnding) {
		return n, false
	}
	_, keyErr := hex.Decode(n.key[:], []byte(file[:32]))
	_, groupErr := hex.Decode(n.group[:], []byte(file[33:49]))
	// Written again it must be the same; hex also reads capitals.
	return n, keyErr == nil && groupErr == nil && file == n.text()+entryEnding && fan == file[:2]
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
