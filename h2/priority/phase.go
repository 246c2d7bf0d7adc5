package priority

import "fmt"

// Phase is what a part of a response is good for. A picture that says where its
// phases end lets all pictures of a page appear before any of them is complete.
type Phase uint8

// The phases. The zero value is that of handlers which just write.
const (
	Body    Phase = iota // nothing is known about the bytes
	Header               // dimensions and layout: through SOF in a JPEG
	Preview              // enough for the whole picture, coarsely
	Good                 // enough for the eye
	Rest                 // refinement
)

// String is the name of the phase in lower case.
func (p Phase) String() string {
	if p > Rest {
		return fmt.Sprintf("phase %d", uint8(p))
	}
	return phaseNames[p]
}

var phaseNames = [...]string{Body: "body", Header: "header", Preview: "preview", Good: "good", Rest: "rest"}

// Effective is the urgency that counts once a phase is known: the header of a
// picture is as urgent as a style sheet, its refinement can wait for all that
// is not known to be refinement. 0 is the most urgent, 7 the least.
func Effective(urgency uint8, phase Phase) uint8 {
	switch phase {
	case Header:
		return min(urgency, 1)
	case Good:
		return max(min(urgency+1, 7), 4)
	case Rest:
		return min(max(urgency+2, max(min(urgency+1, 7), 4)), 7)
	default:
		return urgency
	}
}
