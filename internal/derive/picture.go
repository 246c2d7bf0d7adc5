package derive

import "github.com/spillway-media/spillway/internal/media"

// Picture is one original and what is to be made of it.
type Picture struct {
	Ref string
	// Outputs has a request of one size and one format for each.
	Outputs []media.Request
}
