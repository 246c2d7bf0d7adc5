package fleet

import (
	"fmt"
	"math/big"
	"strings"
	"time"
)

// Money is an amount in ten-thousandths of a cent, so that the price of a spot
// machine, or of one minute, does not round to nothing.
type Money int64

// Cent is one.
const Cent Money = 10_000

// Cents makes money of whole cents.
func Cents(n int64) Money { return Money(n) * Cent }

// String is the amount in cents, without zeros at the end: "20.2 cents".
func (m Money) String() string { return m.Number() + " cents" }

// Number is the amount in cents with up to four decimals.
func (m Money) Number() string {
	sign, n := "", int64(m)
	if n < 0 {
		sign, n = "-", -n
	}
	text := fmt.Sprintf("%s%d.%04d", sign, n/int64(Cent), n%int64(Cent))
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// ParseCents reads an amount of cents, such as "20.2", exactly. More than four
// decimals, and anything but digits and one point, is an error.
func ParseCents(text string) (Money, error) { return parse(text, int64(Cent)) }

// ParseUnits reads an amount of the currency's unit, such as "0.05" (5 cents),
// the way clouds state prices. Up to six decimals are kept.
func ParseUnits(text string) (Money, error) { return parse(text, 100*int64(Cent)) }

func parse(text string, unit int64) (Money, error) {
	if text == "" || strings.Trim(text, "0123456789.") != "" || strings.Count(text, ".") > 1 || len(text) > 20 {
		return 0, fmt.Errorf("%q is not an amount of money: digits with at most one point", text)
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return 0, fmt.Errorf("%q is not an amount of money: digits with at most one point", text)
	}
	r.Mul(r, big.NewRat(unit, 1))
	if !r.IsInt() {
		return 0, fmt.Errorf("%q has more decimals than a ten-thousandth of a cent", text)
	}
	if !r.Num().IsInt64() || r.Num().Int64() > int64(maxMoney) {
		return 0, fmt.Errorf("%q is more than %s", text, maxMoney)
	}
	return Money(r.Num().Int64()), nil
}

// maxMoney is a billion cents: far from where sums overflow.
const maxMoney = 100_000_000_000 * Cent / 100

// For is what an hourly price comes to over d, rounded up: what is not counted
// is what a limit lets slip.
func (m Money) For(d time.Duration) Money {
	if m <= 0 || d <= 0 {
		return 0
	}
	// Both factors can be large, so the product is taken in 128 bits.
	p := new(big.Int).Mul(big.NewInt(int64(m)), big.NewInt(int64(d)))
	p.Add(p, big.NewInt(int64(time.Hour)-1))
	return Money(p.Div(p, big.NewInt(int64(time.Hour))).Int64())
}
