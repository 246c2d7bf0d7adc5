package originals_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/originals"
	"github.com/spillway-media/spillway/internal/source"
)

// places lets a few be fetched at a time, and others wait.
type places struct {
	*origin
	free chan struct{}
}

func (p places) Open(ctx context.Context, ref string) (*source.Object, error) {
	select {
	case <-p.free:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	object, err := p.origin.Open(ctx, ref)
	if err != nil {
		p.free <- struct{}{}
		return nil, err
	}
	object.Body = &placed{ReadCloser: object.Body, free: p.free}
	return object, nil
}

type placed struct {
	io.ReadCloser
	free chan struct{}
	once sync.Once
}

func (p *placed) Close() error {
	p.once.Do(func() { p.free <- struct{}{} })
	return p.ReadCloser.Close()
}

func TestThoseWhoHoldOneAndWaitForAnotherAreNotStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := map[string]page{}
		for i := range 8 {
			pages[fmt.Sprint("picture ", i)] = page{data: "picture", life: says(), headers: time.Millisecond}
			pages[fmt.Sprint("watermark ", i)] = page{data: "watermark", life: says(), headers: time.Millisecond}
		}
		o := newOrigin(pages)
		opener := places{o, make(chan struct{}, 2)}
		opener.free <- struct{}{}
		opener.free <- struct{}{}
		b := newBench(t, o, setup{opener: opener})
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				picture := b.open(fmt.Sprint("picture ", i))
				defer picture.Close()
				watermark := b.open(fmt.Sprint("watermark ", i))
				defer watermark.Close()
				b.wantBytes(b.load(picture)+b.load(watermark), "picturewatermark")
			})
		}
		all.Wait()
		b.wantAsked(asked{Plain: 16, Bodies: 16})
	})
}

// wild panics.
type wild struct{ *origin }

func (w wild) Open(ctx context.Context, ref string) (*source.Object, error) {
	if ref == "open" {
		panic("wild")
	}
	object, err := w.origin.Open(ctx, ref)
	if err == nil {
		object.Body = wildBody{object.Body}
	}
	return object, err
}

type wildBody struct{ io.ReadCloser }

func (wildBody) Read([]byte) (int, error) { panic("wild") }

func TestAPanicCostsOneOriginal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOrigin(map[string]page{"body": {data: "bytes", life: says()}})
		b := newBench(t, o, setup{opener: wild{o}})
		if _, err := b.store.Open(t.Context(), "open"); codeOf(err) != media.CodeSourceFailed {
			t.Errorf("Open gave %v", err)
		}
		held := b.open("body")
		defer held.Close()
		if err := held.Load(t.Context()); codeOf(err) != media.CodeSourceFailed {
			t.Errorf("Load gave %v", err)
		}
	})
}

func TestSettingsOutOfRangeAreNamed(t *testing.T) {
	tests := map[string]originals.Config{
		"max-source-bytes":       {SourceBytes: -1},
		"source-cache-memory":    {Memory: -1},
		"source-fresh":           {Fresh: -1},
		"stale-while-revalidate": {WhileRevalidate: -1},
		"stale-if-error":         {IfError: 400 * 24 * time.Hour},
	}
	for key, cfg := range tests {
		t.Run(key, func(t *testing.T) {
			if _, err := originals.New(cfg, nil, nil, nil, nil); err == nil || !strings.Contains(err.Error(), key) {
				t.Errorf("got %v", err)
			}
		})
	}
}
