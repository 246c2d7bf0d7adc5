package cache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"time"
)

// The head of a file, numbers in little endian:
//
//	 0  magic, the form's version in its last byte
//	 8  CRC-32C of the head from byte 12 on
//	12  length of the head
//	16  time it was stored, in Unix nanoseconds
//	24  SHA-256 of the key
//	56  SHA-256 of the group
//	88  number of parts
//	92  length of meta
//	96  for each part its length (8 bytes) and its CRC-32C (4)
//	    meta
//
// The parts follow, and nothing after them. The names are hashes for the same
// reason that Group is one.
const (
	magic     = "spwcach\x01"
	fixedHead = 96
	partEntry = 12
	maxParts  = 1024
	maxMeta   = 1 << 20
	maxHead   = fixedHead + maxParts*partEntry + maxMeta
)

// errBroken is the reason under every fault of a file's content.
var errBroken = errors.New("cache entry is broken")

type header struct {
	stored     time.Time
	key, group [sha256.Size]byte
	meta       []byte
	parts      []partSum
}

type partSum struct {
	length int64
	crc    uint32
}

func newHeader(key, group string, stored time.Time, meta []byte, parts [][]byte) (header, error) {
	if len(parts) > maxParts || len(meta) > maxMeta {
		return header{}, ErrTooLarge
	}
	h := header{
		stored: stored, meta: meta,
		key: sha256.Sum256([]byte(key)), group: sha256.Sum256([]byte(group)),
	}
	for _, p := range parts {
		h.parts = append(h.parts, partSum{int64(len(p)), checksum(0, p)})
	}
	return h, nil
}

func (h header) length() int { return fixedHead + len(h.parts)*partEntry + len(h.meta) }

// size is the length of the whole file.
func (h header) size() int64 {
	size := int64(h.length())
	for _, p := range h.parts {
		size += p.length
	}
	return size
}

func (h header) encode() []byte {
	order := binary.LittleEndian
	b := make([]byte, 12, h.length())
	copy(b, magic)
	b = order.AppendUint32(b, uint32(h.length()))
	b = order.AppendUint64(b, uint64(h.stored.UnixNano()))
	b = append(b, h.key[:]...)
	b = append(b, h.group[:]...)
	b = order.AppendUint32(b, uint32(len(h.parts)))
	b = order.AppendUint32(b, uint32(len(h.meta)))
	for _, p := range h.parts {
		b = order.AppendUint64(b, uint64(p.length))
		b = order.AppendUint32(b, p.crc)
	}
	b = append(b, h.meta...)
	order.PutUint32(b[8:], checksum(0, b[12:]))
	return b
}

// headLength reads how long the head is that begins with b.
func headLength(b []byte) (int, error) {
	if len(b) < fixedHead || !bytes.HasPrefix(b, []byte(magic)) {
		return 0, fmt.Errorf("%w: it does not begin like one", errBroken)
	}
	n := binary.LittleEndian.Uint32(b[12:])
	if n < fixedHead || n > maxHead {
		return 0, fmt.Errorf("%w: a head of %d bytes", errBroken, n)
	}
	return int(n), nil
}

// parseHeader reads the head of a file of the given size. Whatever b is, it
// takes no more memory than b, and meta is a part of b.
func parseHeader(b []byte, size int64) (header, error) {
	n, err := headLength(b)
	if err != nil {
		return header{}, err
	}
	if len(b) < n {
		return header{}, fmt.Errorf("%w: its head is cut off", errBroken)
	}
	order := binary.LittleEndian
	b = b[:n]
	if order.Uint32(b[8:]) != checksum(0, b[12:]) {
		return header{}, fmt.Errorf("%w: its head has another checksum", errBroken)
	}
	h := header{stored: time.Unix(0, int64(order.Uint64(b[16:])))}
	copy(h.key[:], b[24:])
	copy(h.group[:], b[56:])
	parts, meta := int64(order.Uint32(b[88:])), int64(order.Uint32(b[92:]))
	if parts > maxParts || fixedHead+parts*partEntry+meta != int64(n) {
		return header{}, fmt.Errorf("%w: its head has another length", errBroken)
	}
	h.parts = make([]partSum, parts)
	rest := b[fixedHead:]
	for i := range h.parts {
		h.parts[i] = partSum{int64(order.Uint64(rest)), order.Uint32(rest[8:])}
		if h.parts[i].length < 0 || h.parts[i].length > math.MaxInt64/(2*maxParts) {
			return header{}, fmt.Errorf("%w: a part of impossible length", errBroken)
		}
		rest = rest[partEntry:]
	}
	h.meta = rest
	if h.size() != size {
		return header{}, fmt.Errorf("%w: %d bytes instead of %d", errBroken, size, h.size())
	}
	return h, nil
}

// checksum goes on from crc, 0 at the start. CRC-32C is what processors have
// an instruction for.
func checksum(crc uint32, b []byte) uint32 {
	return crc32.Update(crc, crc32.MakeTable(crc32.Castagnoli), b)
}
