package fleet

// finishDrains ends draining workers that have no job left, or no time.
func (d *deciding) finishDrains() {}
