package fleet

// alert raises, repeats and resolves notices.
func (d *deciding) alert() {}
