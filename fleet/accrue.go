package fleet

import "time"

// Accrue books the time of machines that are paid for, from where the last
// entry of each ended.
func Accrue(now time.Time, workers []Worker) []SpendEntry { return nil }
