package postgres

import (
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/spillway-media/spillway/jobs"
)

// lane is where tags are compared.
type lane struct {
	queue string
	rank  int
}

// seat is a tenant in a lane.
type seat struct {
	lane
	tenant string
}

// rivals are the tags that new jobs have to find their places among.
type rivals struct {
	seats []seat // in the order in which the database is asked
	last  map[seat]float64
	head  map[lane]float64
}

func newRivals(specs []jobs.Spec) *rivals {
	r := &rivals{last: map[seat]float64{}, head: map[lane]float64{}}
	for _, spec := range specs {
		at := seat{lane{spec.Queue, spec.Priority}, spec.Tenant}
		if _, ok := r.last[at]; !ok {
			r.last[at] = 0
			r.seats = append(r.seats, at)
		}
	}
	return r
}

func (r *rivals) args() pgx.NamedArgs {
	queues, tenants := make([]string, len(r.seats)), make([]string, len(r.seats))
	ranks := make([]int16, len(r.seats))
	for i, at := range r.seats {
		queues[i], ranks[i], tenants[i] = at.queue, int16(at.rank), at.tenant
	}
	return pgx.NamedArgs{"queues": queues, "ranks": ranks, "tenants": tenants}
}

func (r *rivals) read(rows pgx.Rows) error {
	for i := 0; rows.Next(); i++ {
		var last, head float64
		if err := rows.Scan(&last, &head); err != nil {
			return err
		}
		r.last[r.seats[i]], r.head[r.seats[i].lane] = last, head
	}
	return rows.Err()
}

// tag gives j its place. A delayed job gets none before it is ready.
func (r *rivals) tag(j *jobs.Job) {
	if !j.Ready(j.CreatedAt) {
		return
	}
	at := seat{lane{j.Queue, j.Rank}, j.Tenant}
	head := r.head[at.lane]
	j.Fair = jobs.FairTag(r.last[at], head, j.Cost())
	r.last[at] = j.Fair
	if head == 0 {
		head = math.Inf(1)
	}
	r.head[at.lane] = math.Min(head, j.Fair)
}
