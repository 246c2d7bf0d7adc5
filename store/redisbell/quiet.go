package redisbell

import (
	"sync"
	"time"
)

// How long a queue is not listened to after a false token: doubled each time.
const (
	firstQuiet   = 50 * time.Millisecond
	longestQuiet = 2 * time.Second
)

// quiet knows the queues whose tokens led to no job. Such a token is put back,
// since it may stand for a job that only others may take; listening on would
// mean to take it again at once, in circles. The zero value is ready.
type quiet struct {
	mu     sync.Mutex // guards all below
	queues map[string]*mistrusted
}

type mistrusted struct {
	until time.Time
	rest  time.Duration // the latest
}

// mistrust notes a false token.
func (q *quiet) mistrust(queue string, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queues == nil {
		q.queues = map[string]*mistrusted{}
	}
	m := q.queues[queue]
	if m == nil {
		m = &mistrusted{}
		q.queues[queue] = m
	}
	m.rest = min(max(2*m.rest, firstQuiet), longestQuiet)
	m.until = now.Add(m.rest)
}

// forget trusts a queue again, and tells whether it was mistrusted.
func (q *quiet) forget(queue string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, was := q.queues[queue]
	delete(q.queues, queue)
	return was
}

// audible are the queues to listen to now, and when the next may be; it is
// later than now, or until. One that has given no false token for a while
// after it was listened to again is trusted.
func (q *quiet) audible(queues []string, now, until time.Time) (heard []string, next time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	next = until
	for _, queue := range queues {
		m := q.queues[queue]
		if m == nil || !now.Before(m.until) {
			heard = append(heard, queue)
		} else if m.until.Before(next) {
			next = m.until
		}
		if m != nil && now.After(m.until.Add(m.rest+longestQuiet)) {
			delete(q.queues, queue)
		}
	}
	return heard, next
}
