package machine

import "testing"

func TestAllocatorIsToldByItsLibrary(t *testing.T) {
	tests := []struct{ name, maps, want string }{
		{"the C library of most systems", "7f0 r-xp /usr/lib/x86_64-linux-gnu/libc.so.6\n", "glibc"},
		{"an older name of the same", "7f0 r-xp /lib/libc-2.31.so\n", "glibc"},
		{"a preloaded allocator wins over the C library", "7f0 /usr/lib/libc.so.6\n7f1 /usr/lib/libjemalloc.so.2\n", "jemalloc"},
		{"the small C library", "7f0 /lib/ld-musl-x86_64.so.1\n", "musl"},
		{"a static binary has none", "7f0 /usr/bin/spillway\n", "none but Go's"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := allocatorOf(test.maps); got != test.want {
				t.Errorf("allocator = %q, want %q", got, test.want)
			}
		})
	}
}
