package fleet

// baseline sees to it that there is a VPS worker, and that it claims what the
// mode leaves to it.
func (d *deciding) baseline() {}
