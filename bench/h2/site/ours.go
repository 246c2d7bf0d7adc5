package site

import (
	"net/http"

	"github.com/spillway-media/spillway/h2"
)

// Ours is package h2, as it comes but for what changes say.
func Ours(changes ...func(*h2.Config)) Kind {
	return Kind{"ours", func(hs *http.Server) error {
		var config h2.Config
		for _, change := range changes {
			change(&config)
		}
		_, err := h2.Configure(hs, config)
		return err
	}}
}

// IgnorePhases leaves urgency and fairness only.
func IgnorePhases(c *h2.Config) { c.IgnorePhases = true }
