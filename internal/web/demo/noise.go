package demo

// scramble mixes all bits of h into all bits of the result.
func scramble(h uint32) uint32 {
	h ^= h >> 15
	h *= 0x2c1b3c6d
	h ^= h >> 12
	h *= 0x297a2d39
	return h ^ h>>15
}

// hash is a well-mixed value in 0 to 1 for a lattice point.
func hash(x, y int32, seed uint32) float32 {
	return float32(scramble(uint32(x)*0x85ebca6b^uint32(y)*0xc2b2ae35^seed*0x27d4eb2f)>>8) / (1 << 24)
}

// noise is smooth value noise in 0 to 1 with features one unit apart.
func noise(x, y float32, seed uint32) float32 {
	fx, fy := floor(x), floor(y)
	tx, ty := x-fx, y-fy
	tx, ty = tx*tx*(3-2*tx), ty*ty*(3-2*ty)
	left, above := uint32(int32(fx))*0x85ebca6b, uint32(int32(fy))*0xc2b2ae35^seed*0x27d4eb2f
	right, below := uint32(int32(fx)+1)*0x85ebca6b, uint32(int32(fy)+1)*0xc2b2ae35^seed*0x27d4eb2f
	a, b := float32(scramble(left^above)>>8), float32(scramble(right^above)>>8)
	c, d := float32(scramble(left^below)>>8), float32(scramble(right^below)>>8)
	a += (b - a) * tx
	c += (d - c) * tx
	return (a + (c-a)*ty) / (1 << 24)
}

// fractal sums octaves of noise, each half as strong and twice as fine; the
// result is again in 0 to 1.
func fractal(x, y float32, octaves int, seed uint32) float32 {
	sum, amplitude, total := float32(0), float32(1), float32(0)
	for i := range octaves {
		sum += amplitude * noise(x, y, seed+uint32(i)*17)
		total += amplitude
		amplitude /= 2
		x, y = x*2.03+5.1, y*2.03+1.7
	}
	return sum / total
}

// ridged is fractal noise folded at its middle, which gives crests.
func ridged(x, y float32, octaves int, seed uint32) float32 {
	sum, amplitude, total := float32(0), float32(1), float32(0)
	for i := range octaves {
		n := noise(x, y, seed+uint32(i)*31)*2 - 1
		sum += amplitude * (1 - max(n, -n))
		total += amplitude
		amplitude *= .48
		x, y = x*2.1+3.3, y*2.1+9.2
	}
	return sum / total
}
