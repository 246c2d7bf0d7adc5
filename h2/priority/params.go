package priority

// Limits and defaults of the values.
const (
	DefaultUrgency = 3  // RFC 9218, 4.1
	LeastUrgent    = 7  // RFC 9218, 4.1
	DefaultWeight  = 16 // RFC 7540, 5.3.5
	MaxWeight      = 256
)

// Params are what a stream is scheduled by.
type Params struct {
	Urgency     uint8  // 0, the most urgent, to 7
	Incremental bool   // parts of it are of use before the rest is there
	Weight      uint16 // 1 to 256; 0 means 16
}

// Default is what holds for a stream about which nobody has said anything.
func Default() Params { return Params{Urgency: DefaultUrgency, Weight: DefaultWeight} }

// valid is p with every value inside its range.
func (p Params) valid() Params {
	p.Urgency = min(p.Urgency, LeastUrgent)
	if p.Weight == 0 {
		p.Weight = DefaultWeight
	}
	p.Weight = min(p.Weight, MaxWeight)
	return p
}

// Wish is what one side has said in a priority field or in PRIORITY_UPDATE.
// A parameter it did not mention, or gave a value that is none, is -1.
type Wish struct {
	Urgency     int8 // 0 to 7
	Incremental int8 // 0 or 1
}

// NoWish is that of a side which has not said anything.
func NoWish() Wish { return Wish{Urgency: -1, Incremental: -1} }

// Merge is what follows from both sides' wishes: parameter by parameter, the
// server's where it has one (RFC 9218, 8: it knows what it answers), else the
// client's, else the default. An update of the client's replaces its earlier
// wish as a whole (RFC 9218, 7): it is merged again, with the same server's.
func Merge(client, server Wish) Params {
	p := Default()
	for _, w := range [...]Wish{client, server} {
		if w.Urgency >= 0 {
			p.Urgency = uint8(min(w.Urgency, LeastUrgent))
		}
		if w.Incremental >= 0 {
			p.Incremental = w.Incremental > 0
		}
	}
	return p
}
