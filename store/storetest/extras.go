package storetest

// extra is a rule for what not every back end has.
type extra struct {
	rule
	has func(*Backend) bool
}

func extras() []extra {
	crashes := func(b *Backend) bool { return b.Crash != nil }
	dies := func(b *Backend) bool { return b.Process != nil }
	counts := func(b *Backend) bool { return b.LLEN != nil }
	remembers := func(b *Backend) bool { _, ok := b.Store.(historian); return ok }
	return []extra{
		{rule{"a crash loses nothing that was acknowledged", crashLosesNothing}, crashes},
		{rule{"a killed process loses nothing that it was told", killLosesNothing}, dies},
		{rule{"a crash in the middle of work leaves every job whole", crashAmidWork}, crashes},
		{rule{"the length of a queue's list is the number of ready jobs", llenIsDepth}, counts},
		{rule{"a list that is wrong is repaired to what SQL says", llenIsRepaired}, counts},
		{rule{"jobs that ended are listed for a replay, as they became eligible", pastIsListed}, remembers},
	}
}
