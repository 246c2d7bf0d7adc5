package derive

import (
	"cmp"
	"strings"
)

// natural orders names as people do: img2 before img10. Names that only differ
// in zeros before a number go by their bytes, so that the order is one.
func natural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		if m, n := digits(x), digits(y); m > 0 && n > 0 {
			if order := byValue(x[:m], y[:n]); order != 0 {
				return order
			}
			x, y = x[m:], y[n:]
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	if order := cmp.Compare(len(x), len(y)); order != 0 {
		return order
	}
	return strings.Compare(a, b)
}

// digits is how many there are at the beginning.
func digits(s string) int {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n
}

// byValue compares numbers of any length.
func byValue(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if order := cmp.Compare(len(a), len(b)); order != 0 {
		return order
	}
	return strings.Compare(a, b)
}
