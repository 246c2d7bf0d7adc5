package transform

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/originals"
)

// key is what a result is known by.
type key struct {
	// tag stands for all that changes the bytes: engine, request, accepted
	// formats and the state of the sources.
	tag string
	// versions are the states of the sources alone.
	versions string
	// shared is the tag of the same without a wish that only JPEG heeds, empty
	// where there is none: what comes out in another format is kept under it.
	shared string
}

// keyOf makes the key of a job. Where a source has no validator its bytes are
// read for it.
func (s *Service) keyOf(ctx context.Context, job Job, src, overlay *originals.Original) (key, error) {
	version, err := src.Version(ctx)
	if err != nil {
		return key{}, asMediaError(err)
	}
	fields := []string{version}
	if overlay != nil {
		if version, err = overlay.Version(ctx); err != nil {
			return key{}, aboutWatermark(asMediaError(err))
		}
		fields = append(fields, version)
	}
	h := sha256.New()
	put(h, fields...)
	k := key{versions: sum(h.Sum(nil))}
	k.tag = s.tag(job, k.versions)
	if job.Request.Format == media.Auto && job.Request.ProgressiveJPEG {
		job.Request.ProgressiveJPEG = false
		k.shared = s.tag(job, k.versions)
	}
	return k, nil
}

// settle drops a wish that only JPEG heeds where none can come out, so that
// the result has the key that it has without.
//
// Which format comes out is not known before the source has been looked at.
// Where JPEG is possible the answers are known by a tag of their own; what
// comes out in another format is still made once for both (key.shared).
func (s *Service) settle(job Job) Job {
	r := &job.Request
	if r.ProgressiveJPEG && r.Format == media.Auto && (r.Progressive || !media.MayBeJPEG(job.Accept, *r, s.engine.Abilities())) {
		r.ProgressiveJPEG = false
	}
	return job
}

// retagged is the tag of what was kept under another one, with its variant.
func retagged(kept, tag string) string {
	_, variant, varied := strings.Cut(kept, ".")
	if varied {
		return tag + "." + variant
	}
	return tag
}

// dressed is a tag as an answer has it: how pictures travel is no part of what
// is made and kept, but it is of the bytes a client gets. A variant stays last.
func dressed(tag string, e media.Encoder) string {
	var mark string
	switch e {
	case media.EncodeJSON:
		mark = "j"
	case media.EncodeProgress:
		mark = "p"
	}
	base, variant, varied := strings.Cut(tag, ".")
	if varied {
		return base + mark + "." + variant
	}
	return base + mark
}

// tag is what Result.Key is, undressed.
func (s *Service) tag(job Job, versions string) string {
	h := sha256.New()
	put(h, s.cfg.Version, job.Ref, versions, job.Request.Canonical())
	if job.Request.Format == media.Auto {
		put(h, job.Accept.Key())
	}
	if job.Thumb {
		put(h, "thumb")
	}
	return sum(h.Sum(nil))
}

func sum(hash []byte) string { return base64.RawURLEncoding.EncodeToString(hash[:16]) }

// put writes length-prefixed fields, so that no two lists of fields run
// together into the same input.
func put(w io.Writer, fields ...string) {
	for _, f := range fields {
		fmt.Fprintf(w, "%d:%s", len(f), f)
	}
}
