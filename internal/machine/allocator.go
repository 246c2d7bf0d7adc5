package machine

import (
	"os"
	"strings"
)

// allocators are told by the file name of the library that brings them, those
// that replace the C library's own first.
var allocators = []struct{ file, name string }{
	{"jemalloc", "jemalloc"}, {"tcmalloc", "tcmalloc"}, {"mimalloc", "mimalloc"},
	{"ld-musl", "musl"}, {"libc.so", "glibc"}, {"libc-", "glibc"},
}

// Allocator names the memory allocator that native code of this process
// uses: it decides how much of a freed picture goes back to the system.
func Allocator() string {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return "the system's"
	}
	return allocatorOf(string(maps))
}

func allocatorOf(maps string) string {
	for _, allocator := range allocators {
		if strings.Contains(maps, allocator.file) {
			return allocator.name
		}
	}
	return "none but Go's"
}
