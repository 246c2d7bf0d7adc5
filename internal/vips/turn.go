package vips

import "github.com/spillway-media/spillway/internal/media"

// turn is one of the eight ways a picture can lie: quarter turns clockwise,
// then a mirroring left to right. All that a request and EXIF ask for folds
// into one, so that pixels are moved once.
type turn struct {
	quarters int
	mirror   bool
}

// upright undoes an EXIF orientation (CIPA DC-008, 4.6.4); values that do not
// exist leave the picture as it is.
func upright(orientation int) turn {
	turns := [...]turn{
		2: {0, true}, 3: {2, false}, 4: {2, true},
		5: {1, true}, 6: {1, false}, 7: {3, true}, 8: {3, false},
	}
	if orientation < 2 || orientation >= len(turns) {
		return turn{}
	}
	return turns[orientation]
}

// rotate adds quarter turns clockwise after t. Seen through a mirror, a turn
// goes the other way.
func (t turn) rotate(quarters int) turn {
	if t.mirror {
		quarters = -quarters
	}
	t.quarters = ((t.quarters+quarters)%4 + 4) % 4
	return t
}

// flop mirrors left to right after t.
func (t turn) flop() turn {
	t.mirror = !t.mirror
	return t
}

// flip mirrors top to bottom after t: a half turn and a flop.
func (t turn) flip() turn { return t.rotate(2).flop() }

// stored gives the area of the stored picture that t shows as area.
func (t turn) stored(area media.Area) media.Area {
	if t.mirror {
		area.X = 1 - area.X - area.Width
	}
	for range t.quarters {
		// Undo a quarter turn clockwise: what is on top was on the left.
		area = media.Area{X: area.Y, Y: 1 - area.X - area.Width, Width: area.Height, Height: area.Width}
	}
	return area
}

// wanted is the whole turn of a plan.
func wanted(plan *media.Plan) turn {
	t := upright(plan.Info.Orientation).rotate(plan.Request.Rotate / 90)
	if plan.Request.Flip {
		t = t.flip()
	}
	if plan.Request.Flop {
		t = t.flop()
	}
	return t
}
