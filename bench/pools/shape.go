package main

// shape is one way to get jobs done for callers that wait for them.
type shape interface {
	// do returns once the job is done. Callers use it at the same time.
	do(j *job)
	// close stops what the shape started. No call of do is under way.
	close()
}

// entry is one line of the ladder.
type entry struct {
	name  string
	note  string
	start func() shape
	// sweep marks what runs on the first load only: the same shape at other
	// numbers of workers.
	sweep bool
}

// entries are the rungs in the order in which the seed climbed them.
func entries(cores int) []entry {
	list := []entry{
		{name: "synchronous inline", note: "no pool: each caller does its own work", start: newInline},
		{name: "dispatcher, 4 workers", note: "channel of channels", start: func() shape { return newDispatcher(4) }},
		{name: "dispatcher, 16 workers", start: func() shape { return newDispatcher(16) }},
		{name: "one queue, 1 worker", start: func() shape { return newQueue(1) }},
		{name: "one queue, 4 workers", start: func() shape { return newQueue(4) }},
		{name: "two stages, 4 + 4", note: "fetchers + processors", start: func() shape { return newStages(4, 4) }},
		{name: "two stages, 2 + 4", start: func() shape { return newStages(2, 4) }},
		{name: "demand-driven, 4 workers", note: "consumers ask, as in GenStage", start: func() shape { return newDemand(4) }},
		{name: "semaphore 4, whole job", start: func() shape { return newSemaphore(4, false) }},
		{name: semaphoreCPU(cores), note: "the fetch waits outside", start: func() shape { return newSemaphore(cores, true) }},
	}
	return append(append(list, peers(4)...), scalers(cores)...)
}
