package notify

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// maxTries is how often a notice is tried, over about 21 hours.
const maxTries = 10

// wait is how long after the nth try (n from 1) the next one is made: half a
// minute, three times as long each time, at most six hours, spread by a fifth
// either way by random in [0, 1).
func wait(n int, random float64) time.Duration {
	const first, longest = 30 * time.Second, 6 * time.Hour
	d := math.Min(float64(first)*math.Pow(3, float64(n-1)), float64(longest))
	return time.Duration(d * (0.8 + 0.4*random))
}

// verdict is what becomes of a notice.
type verdict struct {
	sent, givenUp bool
	failure       string        // without a URL; "" when it was sent
	again         time.Duration // 0: never
}

// judge says what becomes of a notice that was tried for the nth time. failure
// is that of a request that got no answer.
func judge(n, status int, header http.Header, failure string, random float64) verdict {
	switch {
	case failure == "" && status >= 200 && status < 300:
		return verdict{sent: true}
	case failure == "":
		failure = "answered with status " + strconv.Itoa(status)
	}
	if status == http.StatusGone || n >= maxTries {
		return verdict{givenUp: true, failure: failure}
	}
	return verdict{failure: failure, again: max(wait(n, random), askedPause(status, header))}
}

// askedPause is Retry-After in seconds, where a server means that, for as long
// as anything is waited for.
func askedPause(status int, header http.Header) time.Duration {
	if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
		return 0
	}
	seconds, err := strconv.Atoi(header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(min(seconds, 1e6))*time.Second, 6*time.Hour)
}
