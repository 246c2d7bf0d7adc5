package demo_test

import (
	"os"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/web/demo"
)

func TestTry(t *testing.T) {
	start := time.Now()
	if err := demo.Ensure(os.Getenv("OUT")); err != nil {
		t.Fatal(err)
	}
	t.Log(time.Since(start))
}
