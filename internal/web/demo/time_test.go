package demo

import (
	"io"
	"testing"
)

func BenchmarkPaint(b *testing.B) {
	for _, p := range pictures {
		b.Run("picture="+p.Key, func(b *testing.B) {
			for b.Loop() {
				if err := p.paint(io.Discard); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
