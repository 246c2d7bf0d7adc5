package media

import (
	"strconv"
	"strings"
)

// Accept is what an Accept header says of the formats that format=auto chooses
// from. The zero value is that of a client that sent none: it gets the formats
// that every client has known for decades. It can be compared and copied.
type Accept struct{ avif, webp, jpeg, png, gif weight }

// weight is a preference: 0 not mentioned, else 1 more than thousandths. So 1
// is an exclusion, q=0.
type weight uint16

func (w weight) excluded() bool { return w == 1 }
func (w weight) named() bool    { return w > 1 }

// ParseAccept reads the header by RFC 9110, section 12.5.1. The old formats
// take the weight of image/* or */* where they are not named; AVIF and WebP
// have to be named, because clients send */* that know neither.
// Entries that are malformed are passed over.
func ParseAccept(header string) Accept {
	var a Accept
	var images, all weight
	for entry := range strings.SplitSeq(header, ",") {
		kind, q, ok := mediaRange(entry)
		if !ok {
			continue
		}
		switch kind {
		case "image/avif":
			a.avif = max(a.avif, q)
		case "image/webp":
			a.webp = max(a.webp, q)
		case "image/jpeg", "image/jpg":
			a.jpeg = max(a.jpeg, q)
		case "image/png":
			a.png = max(a.png, q)
		case "image/gif":
			a.gif = max(a.gif, q)
		case "image/*":
			images = max(images, q)
		case "*/*":
			all = max(all, q)
		}
	}
	for _, old := range []*weight{&a.jpeg, &a.png, &a.gif} {
		if *old == 0 {
			*old = images
		}
		if *old == 0 {
			*old = all
		}
	}
	return a
}

// mediaRange reads one entry: type/subtype *(;parameter). Parameters other
// than q do not narrow a picture format.
func mediaRange(entry string) (kind string, q weight, ok bool) {
	kind, parameters, _ := strings.Cut(entry, ";")
	q = 1001
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
		if !strings.EqualFold(name, "q") {
			continue
		}
		if q, ok = parseWeight(value); !ok {
			return "", 0, false
		}
	}
	return strings.ToLower(strings.TrimSpace(kind)), q, true
}

// parseWeight reads 0 to 1 with at most three decimals.
func parseWeight(value string) (weight, bool) {
	if len(value) == 0 || len(value) > 5 || strings.Trim(value, "0123456789.") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || n > 1 {
		return 0, false
	}
	return weight(n*1000+0.5) + 1, true
}

// weightOf is the preference for a format.
func (a Accept) weightOf(f Format) weight {
	switch f {
	case AVIF:
		return a.avif
	case WebP:
		return a.webp
	case JPEG:
		return a.jpeg
	case PNG:
		return a.png
	case GIF:
		return a.gif
	}
	return 0
}

// Key names the class of clients that get the same choice: the new formats
// that are wanted, best first, such as "avif,webp". An old format stands in it
// only where it matters: before a new one that is liked less, or as "!png"
// where it is refused. Browsers fall into a handful of classes, so caches may
// hold one entry for each.
func (a Accept) Key() string {
	var words []string
	for _, f := range a.ranking() {
		if a.weightOf(f).named() {
			words = append(words, string(f))
		}
	}
	for len(words) > 0 && Format(words[len(words)-1]) != AVIF && Format(words[len(words)-1]) != WebP {
		words = words[:len(words)-1]
	}
	for _, f := range []Format{GIF, JPEG, PNG} {
		if a.weightOf(f).excluded() {
			words = append(words, "!"+string(f))
		}
	}
	return strings.Join(words, ",")
}

// ranking lists the formats by preference; the order here settles ties.
func (a Accept) ranking() []Format {
	list := []Format{AVIF, WebP, GIF, JPEG, PNG}
	for i := 1; i < len(list); i++ {
		for j := i; j > 0 && a.weightOf(list[j]) > a.weightOf(list[j-1]); j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
	return list
}
