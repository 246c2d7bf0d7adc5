package httpapi

import (
	"context"
	"io"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/placeholder"
	"github.com/spillway-media/spillway/internal/transform"
)

// placeholderDocument is what a page shows until a picture is there, as far as
// it was asked for.
type placeholderDocument struct {
	BlurHash  string `json:"blurhash,omitempty"`
	ThumbHash string `json:"thumbhash,omitempty"`
	LQIP      string `json:"lqip,omitempty"`
	Color     string `json:"color,omitempty"`
}

// makePlaceholder waits for the small picture and derives from it.
func makePlaceholder(ctx context.Context, wanted media.Placeholders, thumb *transform.Output) (placeholderDocument, error) {
	small, err := readThumb(ctx, thumb)
	if err != nil {
		return placeholderDocument{}, err
	}
	return derive(small, wanted)
}

func derive(small placeholder.Picture, wanted media.Placeholders) (d placeholderDocument, err error) {
	if wanted.BlurHash {
		d.BlurHash = small.BlurHash()
	}
	if wanted.ThumbHash {
		d.ThumbHash = small.ThumbHash()
	}
	if wanted.Color {
		d.Color = hexColour(small.Dominant())
	}
	if wanted.LQIP {
		d.LQIP, err = small.DataURI()
	}
	return d, err
}

// readThumb takes the rows of a small picture that came beside the others.
func readThumb(ctx context.Context, thumb *transform.Output) (placeholder.Picture, error) {
	if thumb == nil {
		return placeholder.Picture{}, errNoThumb
	}
	made, err := thumb.Ready(ctx)
	if err == nil {
		err = thumb.Whole(ctx)
	}
	if err != nil {
		return placeholder.Picture{}, err
	}
	reader := thumb.Reader(ctx)
	defer func() { _ = reader.Close() }()
	rows, err := io.ReadAll(io.LimitReader(reader, 4*placeholder.LargestSide*placeholder.LargestSide+1))
	if err != nil {
		return placeholder.Picture{}, err
	}
	small, err := placeholder.New(made.Width, made.Height, rows)
	if err != nil {
		return small, media.Wrap(media.CodeEncodeFailed, err, "No small picture came out.")
	}
	return small, nil
}

var errNoThumb = media.Errorf(media.CodeEncodeFailed, "No small picture came out.")
