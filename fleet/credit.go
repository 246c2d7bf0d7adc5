package fleet

import (
	"fmt"
	"math/big"
)

// Credit compares what users pay for the jobs of a queue with what computing
// them cost. It is a report: nobody is charged by it.
type Credit struct {
	Queue  string `json:"queue"`
	Jobs   int64  `json:"jobs"`
	Earned Money  `json:"earned_ten_thousandths_of_cent"`
	Cost   Money  `json:"cost_ten_thousandths_of_cent"`
	// Margin is the percent that credits lie above cost; negative is a loss. 0
	// where nothing was spent.
	Margin float64 `json:"margin_percent"`
	// Warning says that the margin is under credit_margin_percent; "" it is not,
	// or the queue has no credit_cents_per_job to compare.
	Warning string `json:"warning,omitempty"`
}

// Credits makes the comparison per queue, in order of name, of usage by anyone.
func Credits(cfg Config, usage []Usage) []Credit {
	sums := map[string]Credit{}
	for _, u := range usage {
		c := sums[u.Queue]
		c.Jobs += u.Jobs
		c.Cost += u.Amount
		sums[u.Queue] = c
	}
	out := make([]Credit, 0, len(sums))
	for _, queue := range sortedKeys(sums) {
		c := sums[queue]
		c.Queue, c.Earned = queue, times(cfg.Queues[queue].CreditPerJob, c.Jobs)
		if c.Cost > 0 {
			c.Margin = 100 * (float64(c.Earned)/float64(c.Cost) - 1)
		}
		if cfg.Queues[queue].CreditPerJob > 0 && under(c, cfg.CreditMargin) {
			c.Warning = fmt.Sprintf("queue %s: credits of %s are %.1f percent above a cost of %s; credit_margin_percent is %d",
				queue, c.Earned, c.Margin, c.Cost, cfg.CreditMargin)
		}
		out = append(out, c)
	}
	return out
}

// under compares without rounding: earned < cost and the margin on top of it.
func under(c Credit, margin int) bool {
	earned := new(big.Int).Mul(big.NewInt(int64(c.Earned)), big.NewInt(100))
	wanted := new(big.Int).Mul(big.NewInt(int64(c.Cost)), big.NewInt(100+int64(margin)))
	return earned.Cmp(wanted) < 0
}

// times is bounded, so that no number of jobs turns earnings into a loss.
func times(m Money, n int64) Money {
	p := new(big.Int).Mul(big.NewInt(int64(m)), big.NewInt(n))
	if !p.IsInt64() {
		return Money(1<<63 - 1)
	}
	return Money(p.Int64())
}
