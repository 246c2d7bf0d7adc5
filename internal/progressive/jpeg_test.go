package progressive_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/h2/priority"
	"github.com/spillway-media/spillway/internal/progressive"
)

// marker is one of a whole file: its code, where it ends, and what its segment
// holds.
type marker struct {
	code byte
	end  int
	body []byte
}

// markers parses a file that is all there, with indices into it and without
// any state. It ends where there is no marker any more; ended tells that a
// byte shows so.
func markers(data []byte) (all []marker, stop int, ended bool) {
	scanning := false
	for at := 0; at < len(data); {
		if scanning {
			for at < len(data) && data[at] != 0xff {
				at++
			}
		}
		if at == len(data) {
			return all, at, false
		}
		if data[at] != 0xff {
			return all, at, true
		}
		for at < len(data) && data[at] == 0xff {
			at++
		}
		if at == len(data) {
			return all, at, false
		}
		code := data[at]
		at++
		if scanning && (code == 0 || code >= 0xd0 && code <= 0xd7) {
			continue
		}
		m := marker{code: code, end: at}
		if code == 0 || code == 0xd9 {
			return append(all, m), at, true
		}
		scanning = false
		if code == 0xd8 || code == 1 || code >= 0xd0 && code <= 0xd7 {
			all = append(all, m)
			continue
		}
		if at+2 > len(data) {
			return append(all, m), len(data), false
		}
		length := max(int(data[at])<<8|int(data[at+1]), 2)
		m.body = data[min(at+2, len(data)):min(at+length, len(data))]
		all = append(all, m)
		if at+length > len(data) {
			return all, len(data), false
		}
		at += length
		scanning = code == 0xda
	}
	return all, len(data), false
}

// reference is what Measure should say of a JPEG, from all of it at once.
func reference(data []byte, total int64) (sizes progressive.Sizes) {
	header, preview, good := bounds(data, total)
	if header == len(data) && preview < 0 {
		sizes[priority.Header] = int64(len(data))
		return sizes
	}
	sizes[priority.Header] = int64(header)
	if preview < 0 {
		sizes[priority.Body] = int64(len(data) - header)
		return sizes
	}
	sizes[priority.Preview] = int64(preview - header)
	sizes[priority.Good] = int64(good - preview)
	sizes[priority.Rest] = int64(len(data) - good)
	return sizes
}

// bounds are where phases end; preview is negative where there is none.
func bounds(data []byte, total int64) (header, preview, good int) {
	const limit = 64 << 10
	all, stop, ended := markers(data)
	var frame []byte // of a progressive one
	known := false   // some frame
	header = -1
	var dc, ac [4]bool
	var luma [64]bool
	preview, good = len(data), len(data)
	var last []byte                                     // header of the scan before
	pendingPreview, pendingGood := len(data), len(data) // scans that end there, where the next has not begun
	for _, m := range all {
		if frame != nil && header >= 0 && last != nil {
			note(frame, last, &dc, &ac, &luma)
			progress(m.end, total, header, frame, dc, ac, luma, &pendingPreview, &pendingGood, len(data))
		}
		last = nil
		shown := 0
		complete := m.body != nil && m.end+2+len(m.body) <= len(data) && len(m.body) == max(int(data[m.end])<<8|int(data[m.end+1]), 2)-2
		switch {
		case m.code == 0xda && complete:
			shown = m.end + 2 + len(m.body)
		case m.code == 0xd9 || m.code == 0:
			shown = m.end
		}
		if shown > 0 && pendingPreview < len(data) {
			preview = min(preview, shown)
		}
		if shown > 0 && pendingGood < len(data) {
			good = min(good, shown)
		}
		switch {
		case header < 0 && complete && (m.code == 0xda || isFrame(m.code)):
			header = m.end + 2 + len(m.body)
		case header < 0 && (m.code == 0xd9 || m.code == 0):
			header, frame = m.end, nil
		}
		if header > limit || header < 0 && m.end >= limit {
			header, frame = limit, nil
			break
		}
		if complete && isFrame(m.code) && !known {
			known = true
			if m.code&3 == 2 && len(m.body) >= 6 && m.body[5] >= 1 && m.body[5] <= 4 && len(m.body) >= 6+3*int(m.body[5]) {
				frame = m.body
			}
		}
		if m.code == 0xda && complete {
			last = m.body
			if len(m.body) == 0 {
				last = nil
			}
		}
	}
	if header < 0 {
		header, frame = len(data), nil
		if ended {
			header = min(stop+1, len(data))
		}
		header = min(header, limit)
	}
	if frame == nil {
		return header, -1, 0
	}
	return header, preview, good
}

func isFrame(code byte) bool {
	return code >= 0xc0 && code <= 0xcf && code != 0xc4 && code != 0xc8 && code != 0xcc
}

func note(frame, scan []byte, dc, ac *[4]bool, luma *[64]bool) {
	n := int(scan[0])
	if n < 1 || n > 4 || len(scan) < 4+2*n {
		return
	}
	low, high, bits := int(scan[1+2*n]), min(int(scan[2+2*n]), 63), scan[3+2*n]
	for i := range n {
		for c := range int(frame[5]) {
			if frame[6+3*c] != scan[1+2*i] {
				continue
			}
			if low == 0 {
				dc[c] = dc[c] || bits>>4 == 0
				continue
			}
			ac[c] = ac[c] || bits>>4 == 0
			for k := low; c == 0 && bits&15 <= 1 && k <= high; k++ {
				luma[k] = true
			}
		}
	}
}

func progress(at int, total int64, header int, frame []byte, dc, ac [4]bool, luma [64]bool, preview, good *int, end int) {
	full := func(seen [4]bool) bool {
		for c := range int(frame[5]) {
			if !seen[c] {
				return false
			}
		}
		return true
	}
	if *preview == end && full(dc) {
		*preview = at
	}
	if *preview == end || *good != end {
		return
	}
	exact := full(ac)
	for k := 1; k < 64; k++ {
		exact = exact && luma[k]
	}
	// A marker ends with its second byte, of which the cutter has not heard
	// when it weighs the share.
	late := total >= 0 && int64(at-1-header)*100 >= 65*(total-int64(header))
	if exact || late {
		*good = at
	}
}

func TestBoundariesOfAJPEG(t *testing.T) {
	dht := segment(0xc4, make([]byte, 20))
	baseline := jpegOf(0xc0, 3, []scan{{[]byte{1, 2, 3}, 0, 63, 0, 0, 400}}, nil, nil)
	apart := jpegOf(0xc1, 3, []scan{{[]byte{1}, 0, 63, 0, 0, 99}, {[]byte{2}, 0, 63, 0, 0, 99}, {[]byte{3}, 0, 63, 0, 0, 99}}, nil, nil)
	lateColours := []scan{
		{[]byte{1}, 0, 0, 0, 0, 80}, {[]byte{2, 3}, 0, 0, 0, 0, 40}, {[]byte{1}, 1, 2, 0, 1, 100},
		{[]byte{1}, 3, 63, 0, 1, 300}, {[]byte{1}, 1, 63, 1, 0, 300}, {[]byte{2}, 1, 63, 0, 0, 30}, {[]byte{3}, 1, 63, 0, 0, 30},
	}
	for _, test := range []struct {
		name string
		data []byte
		// after tells which scan ends a phase; 0: none.
		preview, good int
	}{
		{"libjpeg-turbo's script", turboJPEG(), 1, 6},
		{"fill bytes before markers", jpegOf(0xc2, 3, turbo(), []byte("\xff\xff\xff\xfe\x00\x05abc"), []byte("\xff\xff")), 1, 6},
		{"tables between frame and scan", jpegOf(0xc2, 3, turbo(), nil, dht), 1, 6},
		{"lines told behind the first scan", withDNL(turboJPEG()), 1, 6},
		{"DC of each colour alone, colours last: good by its share", jpegOf(0xc2, 3, lateColours, nil, nil), 2, 5},
		{"arithmetic coding", jpegOf(0xca, 3, turbo(), nil, nil), 1, 6},
		{"gray", jpegOf(0xc2, 1, []scan{{[]byte{1}, 0, 0, 0, 1, 50}, {[]byte{1}, 1, 5, 0, 2, 50}, {[]byte{1}, 6, 63, 0, 2, 50}, {[]byte{1}, 1, 63, 2, 1, 99}, {[]byte{1}, 0, 0, 1, 0, 9}, {[]byte{1}, 1, 63, 1, 0, 150}}, nil, nil), 1, 4},
		{"rows", baseline, 0, 0},
		{"colours one after the other in rows", apart, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := progressive.Measure("jpeg", test.data)
			if diff := cmp.Diff(reference(test.data, int64(len(test.data))), got); diff != "" {
				t.Error(diff)
			}
			if test.preview == 0 {
				if got.Of(priority.Preview) != 0 || got.Of(priority.Body) == 0 {
					t.Errorf("sizes %v, want a header and a body", got)
				}
				return
			}
			header, preview := int(got.Of(priority.Header)), int(got.Of(priority.Preview))
			if scans := scansIn(test.data[:header+preview]); scans != test.preview+1 {
				t.Errorf("the preview ends where scan %d begins, want %d", scans, test.preview+1)
			}
			if scans := scansIn(test.data[:header+preview+int(got.Of(priority.Good))]); scans != test.good+1 {
				t.Errorf("good ends where scan %d begins, want %d", scans, test.good+1)
			}
		})
	}
}

func withDNL(data []byte) []byte {
	rest := data
	seen := 0
	all, _, _ := markers(rest)
	for i, m := range all {
		if m.code == 0xda {
			seen = all[i+1].end - 2
			break
		}
	}
	out := append([]byte(nil), data[:seen]...)
	return append(append(out, segment(0xdc, []byte{0, 99})...), data[seen:]...)
}

func scansIn(data []byte) (n int) {
	all, _, _ := markers(data)
	for _, m := range all {
		if m.code == 0xda {
			n++
		}
	}
	return n
}

func TestMetadataOfAJPEG(t *testing.T) {
	note := segment(0xe1, make([]byte, 3000))
	for _, test := range []struct {
		name           string
		before, behind []byte
		header         int64
	}{
		{"none", nil, nil, 2 + 19},
		{"before the frame they are header", note, nil, 2 + 3004 + 19},
		{"behind it they can wait", nil, note, 2 + 19},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := progressive.Measure("jpeg", jpegOf(0xc2, 3, turbo(), test.before, test.behind))
			if got.Of(priority.Header) != test.header || got.Of(priority.Preview) == 0 {
				t.Errorf("sizes %v, want a header of %d", got, test.header)
			}
		})
	}
}

func TestAHeaderHasALimit(t *testing.T) {
	var notes []byte
	for range 2 {
		notes = append(notes, segment(0xe2, make([]byte, 65000))...)
	}
	data := jpegOf(0xc2, 3, turbo(), notes, nil)
	got := progressive.Measure("jpeg", data)
	want := progressive.Sizes{priority.Header: 64 << 10, priority.Body: int64(len(data)) - 64<<10}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
