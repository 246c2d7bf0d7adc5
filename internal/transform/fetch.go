package transform

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/spool"
)

// original is a source on its way in: opened, its headers known, its body
// perhaps not read yet.
type original struct {
	meta  source.Meta
	body  io.ReadCloser
	spool *spool.Spool // set by load
	bytes []byte       // set by load, valid until close
}

// open starts a fetch; a place among the fetches is held until the body was
// read or given up.
func (s *Service) open(ctx context.Context, ref string) (*original, error) {
	select {
	case s.fetches <- struct{}{}:
	default:
		return nil, media.Errorf(media.CodeOverloaded, "The server is busy: %d sources are being read already.", cap(s.fetches))
	}
	taken := true
	defer func() {
		if taken {
			<-s.fetches
		}
	}()
	object, err := s.sources.Open(ctx, ref)
	if err != nil {
		return nil, asMediaError(err)
	}
	limit := s.cfg.Limits.SourceBytes
	if object.Size > limit {
		return nil, errors.Join(tooLarge(limit), object.Body.Close())
	}
	taken = false // the body gives it back from here on
	return &original{meta: object.Meta, body: &place{object.Body, s.fetches}}, nil
}

// place gives the fetch's place back with the body.
type place struct {
	io.ReadCloser
	places chan struct{}
}

func (p *place) Close() error {
	if p.places != nil {
		<-p.places
		p.places = nil
	}
	return p.ReadCloser.Close()
}

// load reads the body whole into a spool; only a complete body is kept.
func (o *original) load(s *Service) error {
	if o.spool != nil {
		return nil
	}
	limit := s.cfg.Limits.SourceBytes
	o.spool = s.spools.New(limit)
	_, err := io.Copy(o.spool, o.body)
	err = errors.Join(err, o.body.Close())
	o.body = nil
	err = o.spool.Finish(err)
	switch {
	case errors.Is(err, spool.ErrTooLarge):
		return tooLarge(limit)
	case errors.Is(err, spool.ErrFull):
		return media.Wrap(media.CodeOverloaded, err, "The server is busy: its space for sources is used up.")
	case err != nil:
		return asMediaError(err)
	}
	if o.bytes, err = o.spool.Bytes(); err != nil {
		return asMediaError(err)
	}
	if len(o.bytes) == 0 {
		return media.Errorf(media.CodeUnsupported, "The source is empty; an image was expected.")
	}
	return nil
}

// version tells one state of the source from the next: the origin's own
// validator, or the hash of the bytes where it has none or they may be a part
// of what it stands for.
func (o *original) version(s *Service) (string, error) {
	if v := o.meta.Validator(); v != "" && !o.meta.OpenEnded {
		return v, nil
	}
	if err := o.load(s); err != nil {
		return "", err
	}
	sum := sha256.Sum256(o.bytes)
	return hex.EncodeToString(sum[:]), nil
}

// close gives back what the original holds. The bytes are gone afterwards.
func (o *original) close() {
	if o == nil {
		return
	}
	if o.body != nil {
		// Only reading was wanted; a failing close changes nothing.
		_ = o.body.Close()
	}
	if o.spool != nil {
		o.spool.Release()
	}
}

func tooLarge(limit int64) error {
	return media.Errorf(media.CodeSourceTooLarge, "The source is larger than the limit of %d bytes.", limit)
}

// asMediaError lets coded errors pass and gives the rest a code by kind.
func asMediaError(err error) error {
	var coded *media.Error
	switch {
	case errors.As(err, &coded):
		return coded
	case errors.Is(err, context.Canceled):
		return media.Wrap(media.CodeCancelled, err, "The request ended before its picture was ready.")
	case errors.Is(err, context.DeadlineExceeded):
		return media.Wrap(media.CodeTimeout, err, "The request took longer than allowed.")
	case errors.Is(err, spool.ErrFull):
		return media.Wrap(media.CodeOverloaded, err, "The server is busy: its space for results is used up.")
	case errors.Is(err, spool.ErrTooLarge):
		return media.Wrap(media.CodeOutputBytes, err, "The result is larger than the limit for one output.")
	}
	return media.Wrap(media.CodeEncodeFailed, err, "The picture could not be made.")
}

// ended tells why ctx is over: by a cause of ours that has a code, or because
// whoever asked has left, which detail words.
func ended(ctx context.Context, detail string) error {
	cause := context.Cause(ctx)
	var coded *media.Error
	if errors.As(cause, &coded) {
		return coded
	}
	return media.Wrap(media.CodeCancelled, cause, "%s", detail)
}
