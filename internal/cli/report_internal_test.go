package cli

import "testing"

func TestTheSumOfAConversionIsASentence(t *testing.T) {
	tests := []struct {
		name string
		sum  summary
		want string
	}{
		{"one file", summary{Files: 1, OK: 1, Results: 1, Bytes: 139, Seconds: 0.04}, "1 of 1 file converted, 0 failed: 1 result, 139 bytes, 0.0 s"},
		{"several", summary{Files: 3, OK: 2, Failed: 1, Results: 4, Bytes: 3 << 20, Seconds: 1.26}, "2 of 3 files converted, 1 failed: 4 results, 3.0 MiB, 1.3 s"},
		{"a byte", summary{Files: 1, OK: 1, Results: 1, Bytes: 1}, "1 of 1 file converted, 0 failed: 1 result, 1 byte, 0.0 s"},
		{"no result has no size", summary{Files: 1, Failed: 1}, "0 of 1 file converted, 1 failed, 0.0 s"},
		{"more than the largest unit", summary{Files: 1, OK: 1, Results: 1, Bytes: 5 << 50}, "1 of 1 file converted, 0 failed: 1 result, 5120.0 TiB, 0.0 s"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.sum.String(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
