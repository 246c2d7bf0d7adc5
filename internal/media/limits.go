package media

import (
	"errors"
	"fmt"
	"time"
)

// Limits bound what one request may cost. Each is checked from the header,
// before a pixel is decoded, wherever the header tells.
type Limits struct {
	SourceBytes int64         // encoded size of an original (64 MiB)
	Pixels      int64         // width x height x frames of the source (100 MP)
	OutputSide  int           // either side of a result (16,384)
	OutputBytes int64         // encoded size of one result (256 MiB)
	Outputs     int           // sizes in one request (16)
	Frames      int           // animation frames of the source (500)
	Time        time.Duration // wall time of one transform (15 s)
	JPEGScans   int           // scans of a progressive JPEG (100)
	SVGNodes    int           // elements of an SVG after use expansion (50,000)
	Metadata    int64         // inflated bytes of one metadata block (16 MiB)
	Page        int           // highest document page number (1,000)
}

// DefaultLimits are the values above in brackets.
func DefaultLimits() Limits {
	return Limits{
		SourceBytes: 64 << 20, Pixels: 100_000_000, OutputSide: 16384,
		OutputBytes: 256 << 20, Outputs: 16, Frames: 500, Time: 15 * time.Second,
		JPEGScans: 100, SVGNodes: 50_000, Metadata: 16 << 20, Page: 1000,
	}
}

// Validate joins every fault, each naming its key and range.
func (l Limits) Validate() error {
	var errs []error
	check := func(key string, value, low, high int64) {
		if value < low || value > high {
			errs = append(errs, fmt.Errorf("%s: %d is not within %d to %d", key, value, low, high))
		}
	}
	check("max-source-bytes", l.SourceBytes, 1, 1<<40)
	check("max-pixels", l.Pixels, 1, 1<<40)
	check("max-output-side", int64(l.OutputSide), 1, 65535)
	check("max-output-bytes", l.OutputBytes, 1, 1<<40)
	check("max-outputs", int64(l.Outputs), 1, 1000)
	check("max-frames", int64(l.Frames), 1, 1<<20)
	check("max-jpeg-scans", int64(l.JPEGScans), 1, 1<<20)
	check("max-svg-nodes", int64(l.SVGNodes), 1, 1<<30)
	check("max-metadata-bytes", l.Metadata, 1, 1<<40)
	check("max-page", int64(l.Page), 1, 1<<20)
	if l.Time < 10*time.Millisecond || l.Time > time.Hour {
		errs = append(errs, fmt.Errorf("transform-timeout: %s is not within 10ms to 1h", l.Time))
	}
	return errors.Join(errs...)
}
