package source

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
)

// Scope stands for everything that decides what a reference means and whether
// it may be opened, and is short: what was fetched under another scope may be
// another original, or one that is not allowed any more.
func (c Config) Scope() string {
	allow := slices.Sorted(slices.Values(c.Allow))
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %t %q %q %t", c.Root, allow, c.AllowPrivate, c.S3.Endpoint, c.S3.Region, c.S3.PathStyle))
	return hex.EncodeToString(sum[:8])
}
