package fleet

// capSpending drains and ends all machines once the daily limit would be
// reached, reverts to vps_only, and goes on ending what is left while the latch is set.
func (d *deciding) capSpending() {}
