package derive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/transform"
)

// acceptClasses are the kinds of clients that a negotiated format is chosen
// for: those that take AVIF, WebP, and neither.
var acceptClasses = []string{"image/avif,image/webp,image/*", "image/webp,image/*", ""}

// NewLocalWarmer makes pictures by the service that answers requests in the same
// process, whose cache keeps them. Where the format is negotiated it makes those
// of all clients.
func NewLocalWarmer(images Images) Warmer { return localWarmer{images} }

type localWarmer struct{ images Images }

// Warm implements Warmer.
func (w localWarmer) Warm(ctx context.Context, p Picture) ([]Output, error) {
	var all []transform.Job
	for _, job := range p.jobs() {
		if job.Request.Format != media.Auto {
			all = append(all, job)
			continue
		}
		for _, accept := range acceptClasses {
			job.Accept = media.ParseAccept(accept)
			all = append(all, job)
		}
	}
	results, err := w.images.DoAll(ctx, all)
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, result := range results {
			result.Close()
		}
	}()
	outputs := make([]Output, len(results))
	for i, result := range results {
		if outputs[i], err = describe(ctx, all[i].Request, result); err != nil {
			return nil, err
		}
		result.Close()
	}
	return outputs, nil
}

// NewRemoteWarmer asks the image server at base, an http or https URL, by open,
// which has to be allowed to. sign, which may be nil, makes a path and query one
// that the server takes.
func NewRemoteWarmer(base string, open source.Opener, sign func(string) string) Warmer {
	if sign == nil {
		sign = func(address string) string { return address }
	}
	return &remoteWarmer{strings.TrimSuffix(base, "/"), open, sign}
}

type remoteWarmer struct {
	base string
	open source.Opener
	sign func(string) string
}

// Warm implements Warmer.
func (w *remoteWarmer) Warm(ctx context.Context, p Picture) ([]Output, error) {
	outputs := make([]Output, len(p.Outputs))
	for i, request := range p.Outputs {
		var err error
		if outputs[i], err = w.ask(ctx, p.Ref, request); err != nil {
			return nil, err
		}
	}
	return outputs, nil
}

func (w *remoteWarmer) ask(ctx context.Context, ref string, request media.Request) (Output, error) {
	if request.Format == media.Auto {
		return Output{}, media.Errorf(media.CodeInvalidParameter,
			"format: auto is another picture for each client of the image server; name the formats, as in webp,avif.").About("format")
	}
	address := "/resize?image_url=" + url.QueryEscape(ref)
	if canonical := request.Canonical(); canonical != "" {
		address += "&" + canonical
	}
	object, err := w.open.Open(ctx, w.base+w.sign(address))
	if err != nil {
		return Output{}, refused(err)
	}
	defer object.Body.Close()
	n, err := io.Copy(io.Discard, object.Body)
	if err != nil {
		return Output{}, refused(err)
	}
	return Output{
		Size: boxOf(request), Format: string(request.Format), Bytes: n, ContentType: request.Format.ContentType(),
	}, nil
}

// refused tells an image server that is in trouble from one that has looked at
// the picture and will not make it, however often it is asked.
func refused(err error) error {
	var coded *media.Error
	if !errors.As(err, &coded) || coded.Code != media.CodeSourceFailed || source.Unavailable(err) {
		return err
	}
	// Its status tells a picture that is broken from a signature that is wrong.
	return media.Wrap(media.CodeDecodeFailed, err, "The image server does not make this picture: %s", coded.Detail)
}

func boxOf(request media.Request) string {
	return fmt.Sprintf("%dx%d", request.Sizes[0].Width, request.Sizes[0].Height)
}
