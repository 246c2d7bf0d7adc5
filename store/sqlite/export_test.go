package sqlite

// OperationsPerCommit is only asked when nobody writes.
func (s *Store) OperationsPerCommit() float64 {
	return float64(s.writer.written) / float64(s.writer.commits)
}

// Statements are those of sql/ by name.
func Statements() (map[string]string, error) { return readStatements() }

// HoldTurn keeps every writer of the file waiting until it is released.
func (s *Store) HoldTurn() (release func() error, err error) {
	lock, err := openLock(s.path + "-turn.lock")
	if err != nil {
		return nil, err
	}
	for won := false; !won; {
		if won, err = lock.try(); err != nil {
			return nil, err
		}
	}
	return lock.close, nil
}
