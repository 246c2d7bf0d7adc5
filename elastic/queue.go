package elastic

// entry is a queued or running job. Whoever moves task.state decides whose it
// is: the queue's (guarded by the pool's mutex), then one worker's.
type entry[T any] struct {
	task
	job        T
	prev, next *entry[T]
}

// queue holds the waiting jobs of all classes, oldest first in each. Linked
// through the entries, so that a job whose caller leaves is taken out at once
// and its place is free. Guarded by the pool's mutex; it never blocks.
type queue[T any] struct {
	classes  []lane[T]
	ageing   int64 // ns of head start a class has over the next
	length   int
	arrivals uint64 // jobs ever queued
}

type lane[T any] struct {
	head, tail *entry[T]
	length     int
	// least is the shortest wait of those taken since the last look, and
	// taken how many there were.
	least int64
	taken int
}

func newQueue[T any](classes int, ageing int64) queue[T] {
	return queue[T]{classes: make([]lane[T], classes), ageing: ageing}
}

func (q *queue[T]) push(e *entry[T]) {
	l := &q.classes[e.class]
	e.prev = l.tail
	if l.tail == nil {
		l.head = e
	} else {
		l.tail.next = e
	}
	l.tail = e
	l.length++
	q.length++
	q.arrivals++
}

func (q *queue[T]) remove(e *entry[T]) {
	l := &q.classes[e.class]
	if e.prev == nil {
		l.head = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.tail = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.prev, e.next = nil, nil
	l.length--
	q.length--
}

// take removes the job whose turn it is, nil when none waits: the one that
// came first, where every class counts as come one ageing later than the class
// before it. So a higher class goes first, yet only jobs that come within a
// bounded time can pass one that waits.
func (q *queue[T]) take(now int64) *entry[T] {
	var best *entry[T]
	var turn int64
	for c := range q.classes {
		head := q.classes[c].head
		if head == nil {
			continue
		}
		if at := head.arrived + int64(c)*q.ageing; best == nil || at < turn {
			best, turn = head, at
		}
	}
	if best == nil {
		return nil
	}
	l := &q.classes[best.class]
	if wait := max(0, now-best.arrived); l.taken == 0 || wait < l.least {
		l.least = wait
	}
	l.taken++
	q.remove(best)
	return best
}

// oldest is how long the job that has waited longest has waited.
func (q *queue[T]) oldest(now int64) int64 {
	var wait int64
	for c := range q.classes {
		if head := q.classes[c].head; head != nil {
			wait = max(wait, now-head.arrived)
		}
	}
	return wait
}

// standing begins a new interval and returns the standing wait of the last: the
// shortest wait among the jobs taken, or, when none was, the age of the oldest.
// Of several classes the worst counts: a starved one is a lack of workers too.
func (q *queue[T]) standing(now int64) int64 {
	var worst int64
	for c := range q.classes {
		l := &q.classes[c]
		switch {
		case l.taken > 0:
			worst = max(worst, l.least)
		case l.head != nil:
			worst = max(worst, now-l.head.arrived)
		}
		l.taken, l.least = 0, 0
	}
	return worst
}
