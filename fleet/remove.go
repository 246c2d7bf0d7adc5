package fleet

// remove drains workers that are more than the settings allow, then idle ones.
func (d *deciding) remove() {}
