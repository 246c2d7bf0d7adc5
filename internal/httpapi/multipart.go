package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"mime/multipart"
	"net/textproto"
	"strconv"

	"github.com/spillway-media/spillway/internal/transform"
)

// boundary follows from the tag, because a strong tag promises equal bytes.
func boundary(etag string) string {
	sum := sha256.Sum256([]byte("multipart " + etag))
	return "spillway-" + hex.EncodeToString(sum[:12])
}

// sendMultipart streams several pictures in the order asked.
func sendMultipart(x *exchange, w *wish, result *transform.Result, all iter.Seq2[part, error]) error {
	to := newFlushing(x.w)
	mixed := multipart.NewWriter(to)
	if err := mixed.SetBoundary(boundary(result.ETag)); err != nil {
		return fmt.Errorf("set boundary: %w", err)
	}
	for p, err := range all {
		if err != nil {
			return err
		}
		body, err := mixed.CreatePart(partHeader(w.ref, result, p))
		if err != nil {
			return err
		}
		if _, err := io.Copy(body, p.body); err != nil {
			return err
		}
	}
	return mixed.Close()
}

// partHeader leaves the length out even where it is known: whether it is
// depends on the moment, and equal tags mean equal bytes.
func partHeader(ref string, result *transform.Result, p part) textproto.MIMEHeader {
	h := textproto.MIMEHeader{}
	name := fmt.Sprintf("%s-%dx%d", baseName(ref), p.made.Width, p.made.Height)
	h.Set("Content-Type", result.Format.ContentType())
	h.Set("Content-Disposition", dispositionOf(name, result.Format))
	h.Set("Image-Width", strconv.Itoa(p.made.Width))
	h.Set("Image-Height", strconv.Itoa(p.made.Height))
	return h
}
