package interop_test

import (
	"encoding/binary"
	"testing"
)

// startOfFrame is the marker that tells how a JPEG is coded: 0xC0 in one scan,
// 0xC2 in several.
func startOfFrame(t *testing.T, file string) byte {
	t.Helper()
	for at := 2; at+4 <= len(file) && file[at] == 0xff; {
		if marker := file[at+1]; marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc {
			return marker
		}
		at += 2 + int(binary.BigEndian.Uint16([]byte(file[at+2:at+4])))
	}
	t.Fatalf("%d bytes are no JPEG", len(file))
	return 0
}

// A progressive JPEG is larger work and pays only where its first scans overtake
// other pictures, so HTTP/1.1 gets it only when it asks.
func TestJPEGsAreProgressiveWhereThatPays(t *testing.T) {
	flags := map[bool]string{true: "--http2", false: "--http2-prior-knowledge"}
	for _, at := range sites {
		s := serve(t, at)
		plain, baseline, progressive := picture(3, 320, "&format=jpeg"), picture(3, 320, "&format=jpeg&progressive=false"), picture(3, 320, "&format=jpeg&progressive=true")
		for _, c := range []struct {
			name, path    string
			flag, version string
			want          byte
		}{
			{"HTTP/2, as it comes", plain, flags[at.secure], "2", 0xc2},
			{"HTTP/2, in one scan by wish", baseline, flags[at.secure], "2", 0xc0},
			{"HTTP/1.1, as it comes", plain, "--http1.1", "1.1", 0xc0},
			{"HTTP/1.1, in several by wish", progressive, "--http1.1", "1.1", 0xc2},
		} {
			t.Run(c.name+" "+at.name, func(t *testing.T) {
				if got := startOfFrame(t, curl(t, s, request{path: c.path}, c.flag, c.version).Body); got != c.want {
					t.Errorf("its frame starts with %#x, want %#x", got, c.want)
				}
			})
		}
	}
}
