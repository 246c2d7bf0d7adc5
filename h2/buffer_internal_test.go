package h2

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// A buffer is held against a plain slice: whatever is appended, lent, kept and
// read, and in whatever portions, the bytes come out as they went in.
func TestBufferGivesWhatItGot(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var b buffer
		var model []byte
		next := byte(0)
		fresh := func(n int) []byte {
			p := make([]byte, n)
			for i := range p {
				next++
				p[i] = next
			}
			return p
		}
		lent := false
		for range 200 {
			switch op := rnd.IntN(6); {
			case op == 0 && !lent:
				p := fresh(rnd.IntN(70_000))
				b.lend(p)
				model = append(model, p...)
				lent = len(p) > 0
			case op == 1:
				b.keep()
				lent = false
			case op == 2 && !lent:
				p := fresh(rnd.IntN(9_000))
				b.append(p)
				model = append(model, p...)
			default:
				got := make([]byte, rnd.IntN(20_000))
				n := b.read(got)
				if n != min(len(got), len(model)) || !bytes.Equal(got[:n], model[:n]) {
					t.Fatalf("seed %d: %d bytes read are not those that were written", seed, n)
				}
				model = model[n:]
			}
			if b.len() != len(model) || b.held() < 0 || b.held() > b.len() {
				t.Fatalf("seed %d: len %d, held %d, want %d", seed, b.len(), b.held(), len(model))
			}
		}
		b.drop()
		if b.len() != 0 || b.held() != 0 || b.first != nil || b.last != nil {
			t.Fatalf("seed %d: something is left", seed)
		}
	}
}
