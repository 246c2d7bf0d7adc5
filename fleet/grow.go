package fleet

// grow asks the policy how many workers each queue wants, and un-drains or
// launches as many of them as the limits allow.
func (d *deciding) grow() {}
