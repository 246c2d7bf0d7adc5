package jobs

// longJob is from where on a spot machine takes a job only when it can resume.
const longJob = 30 * 60

// Allowed is the routing table: which jobs a worker of a market may claim. A
// spot machine takes no interactive job (priority 1 to 3, as asked for, whatever
// ageing has made of it), and one of more than half an hour only when it has
// checkpoints; the others take all. Stores put the same condition into SQL, and
// storetest holds them to this function.
func (m Market) Allowed(s Spec) bool {
	return m != Spot || s.Priority > 3 && (s.EstimatedSeconds <= longJob || s.Checkpointable)
}
