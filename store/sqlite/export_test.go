package sqlite

// OperationsPerCommit is only asked when nobody writes.
func (s *Store) OperationsPerCommit() float64 {
	return float64(s.writer.written) / float64(s.writer.commits)
}
