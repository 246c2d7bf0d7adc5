package httpapi

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"iter"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/transform"
)

// sourceDocument describes a source in the answers of encoder=json and /info.
type sourceDocument struct {
	Format      media.Format `json:"format"`
	ContentType string       `json:"content_type"`
	// Width and Height are of the upright picture, StoredWidth and
	// StoredHeight as they stand in the file.
	Width        int   `json:"width"`
	Height       int   `json:"height"`
	StoredWidth  int   `json:"stored_width"`
	StoredHeight int   `json:"stored_height"`
	Orientation  int   `json:"orientation"`
	Bytes        int64 `json:"bytes"`
	Frames       int   `json:"frames"`
	Animated     bool  `json:"animated"`
	Alpha        bool  `json:"alpha"`
}

func describeSource(info media.Info, bytes int64) sourceDocument {
	width, height := info.Upright()
	return sourceDocument{
		Format: info.Format, ContentType: info.Format.ContentType(),
		Width: width, Height: height, StoredWidth: info.Width, StoredHeight: info.Height,
		Orientation: info.Orientation, Bytes: bytes,
		Frames: info.Frames, Animated: info.Animated, Alpha: info.Alpha,
	}
}

// imageHead is what stands before a picture's data in the document.
type imageHead struct {
	Width       int          `json:"width"`
	Height      int          `json:"height"`
	Frames      int          `json:"frames"`
	Format      media.Format `json:"format"`
	ContentType string       `json:"content_type"`
	Quality     int          `json:"quality"`
}

func describeMade(format media.Format, made transform.Made) imageHead {
	return imageHead{
		Width: made.Width, Height: made.Height, Frames: made.Frames,
		Format: format, ContentType: format.ContentType(), Quality: made.Quality,
	}
}

// jsonBuffer is how much of a document leaves at once. Base64 comes in pieces
// of a kilobyte, each of which would be a packet of its own.
const jsonBuffer = 32 << 10

// sendJSON streams one document with all pictures in base64, in the order
// asked. The document is written piece by piece, so that no picture is ever
// held whole; its length is only known behind its data.
func sendJSON(x *exchange, w *wish, result *transform.Result, all iter.Seq2[part, error]) error {
	to := bufio.NewWriterSize(newFlushing(x.w), jsonBuffer)
	head, err := json.Marshal(describeSource(result.Info, result.SourceBytes))
	if err != nil {
		return fmt.Errorf("write source: %w", err)
	}
	if _, err := fmt.Fprintf(to, `{"source":%s,"images":[`, head); err != nil {
		return err
	}
	comma := ""
	for p, err := range all {
		if err != nil {
			return err
		}
		if err := sendJSONImage(to, comma, result.Format, p); err != nil {
			return err
		}
		comma = ","
	}
	if _, err = to.WriteString("]"); err != nil {
		return err
	}
	if err := sendPlaceholder(x.r.Context(), to, w.request.Placeholders, result.Thumb); err != nil {
		return err
	}
	if _, err := to.WriteString("}\n"); err != nil {
		return err
	}
	return to.Flush()
}

// sendPlaceholder writes what stands for the first picture until it is there.
func sendPlaceholder(ctx context.Context, to io.Writer, wanted media.Placeholders, thumb *transform.Output) error {
	if !wanted.Any() {
		return nil
	}
	document, err := makePlaceholder(ctx, wanted, thumb)
	if err != nil {
		return err
	}
	text, err := json.Marshal(document)
	if err != nil {
		return fmt.Errorf("write placeholder: %w", err)
	}
	_, err = fmt.Fprintf(to, `,"placeholder":%s`, text)
	return err
}

func sendJSONImage(to io.Writer, comma string, format media.Format, p part) error {
	head, err := json.Marshal(describeMade(format, p.made))
	if err != nil {
		return fmt.Errorf("write image: %w", err)
	}
	open := head[:len(head)-1] // the object goes on with its data
	if _, err := fmt.Fprintf(to, `%s%s,"data":"`, comma, open); err != nil {
		return err
	}
	data := base64.NewEncoder(base64.StdEncoding, to)
	n, err := io.Copy(data, p.body)
	if err != nil {
		return err
	}
	if err := data.Close(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(to, `","bytes":%d}`, n)
	return err
}
