package cli

import (
	"errors"
	"testing"

	"github.com/spillway-media/spillway/internal/app"
)

func TestTheStateOfLibvipsIsALine(t *testing.T) {
	tests := []struct {
		name  string
		facts app.CodecFacts
		err   error
		want  string
	}{
		{"a version", app.CodecFacts{Version: "8.14.1", ThreadsAreSafe: true}, nil, "8.14.1"},
		{"one that may crash", app.CodecFacts{Version: "8.14.1"}, nil, "8.14.1\tits idle threads can bring the server down: use 8.15.5 or newer"},
		{"none at all", app.CodecFacts{}, errors.New("it is not there"), "it is not there"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := examine(test.facts, test.err).state(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
