package vips_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/spillway-media/spillway/internal/vips"
)

// helperWord is the argument that makes this test program a helper process.
const helperWord = "encode-helper"

// TestMain is what the program's hidden command is: it makes the process a
// helper when the engine under test has started it as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == helperWord {
		if err := vips.Work(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == measureWord {
		if err := measure(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
