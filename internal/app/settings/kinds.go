package settings

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is a size in bytes, written as 64MiB, 64MB or a plain number.
type Bytes int64

// byteUnits are tried in order, so the longer name of a unit comes first.
var byteUnits = []struct {
	name  string
	bytes int64
}{
	{"tib", 1 << 40}, {"gib", 1 << 30}, {"mib", 1 << 20}, {"kib", 1 << 10},
	{"tb", 1e12}, {"gb", 1e9}, {"mb", 1e6}, {"kb", 1e3}, {"b", 1},
}

const bytesAllowed = "a size such as 64MiB, 500MB or 1048576"

// UnmarshalText reads a size; a unit may follow a fraction, as in 1.5GiB.
func (b *Bytes) UnmarshalText(text []byte) error {
	number, unit := strings.ToLower(strings.TrimSpace(string(text))), int64(1)
	for _, u := range byteUnits {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	value, err := strconv.ParseFloat(number, 64)
	total := value * float64(unit)
	// The comparison also refuses NaN, and a size that would not fit.
	if err != nil || !(total >= 0 && total < math.MaxInt64) || strings.ContainsAny(number, "einpx_") {
		return fmt.Errorf("%q is not %s", text, bytesAllowed)
	}
	*b = Bytes(total)
	return nil
}

// String writes the size in the largest binary unit that divides it.
func (b Bytes) String() string {
	for _, u := range byteUnits[:4] {
		if b != 0 && int64(b)%u.bytes == 0 {
			return strconv.FormatInt(int64(b)/u.bytes, 10) + strings.ToUpper(u.name[:1]) + "iB"
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// MarshalText is String, for JSON.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// Share is a part of the memory seen: a percentage or a fixed size.
type Share struct {
	Percent float64
	Fixed   Bytes
}

const shareAllowed = "a share such as 40% or a size such as 2GiB"

// UnmarshalText reads 40% or a size.
func (s *Share) UnmarshalText(text []byte) error {
	number, isPercent := strings.CutSuffix(strings.TrimSpace(string(text)), "%")
	if !isPercent {
		var fixed Bytes
		if fixed.UnmarshalText(text) != nil {
			return fmt.Errorf("%q is not %s", text, shareAllowed)
		}
		*s = Share{Fixed: fixed}
		return nil
	}
	percent, err := strconv.ParseFloat(number, 64)
	if err != nil || !(percent > 0 && percent <= 90) {
		return fmt.Errorf("%q is not %s; a share is above 0%% and at most 90%%", text, shareAllowed)
	}
	*s = Share{Percent: percent}
	return nil
}

// Of is the size of the share when total bytes of memory are there.
func (s Share) Of(total int64) int64 {
	if s.Percent > 0 {
		return int64(float64(total) * s.Percent / 100)
	}
	return int64(s.Fixed)
}

// String is the inverse of UnmarshalText.
func (s Share) String() string {
	if s.Percent > 0 {
		return strconv.FormatFloat(s.Percent, 'f', -1, 64) + "%"
	}
	return s.Fixed.String()
}

// MarshalText is String, for JSON.
func (s Share) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
