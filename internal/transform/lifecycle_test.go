package transform_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/transform"
)

// describer blocks in Describe until it is told to stop.
type describer struct{ *scriptEngine }

func (describer) Describe(ctx context.Context, _ []byte, _ media.Info) (transform.Summary, error) {
	<-ctx.Done()
	return transform.Summary{}, context.Cause(ctx)
}

// A drain that waited for the time limit of each would last for minutes.
func TestShutdownAlsoCancelsDescriptionsAndWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(c *transform.Config) { c.Jobs, c.QueueWait = 1, time.Minute })
		service := b.with(t, describer{b.engine}, b.source)
		faults := make(chan error, 3)
		for range cap(faults) {
			go func() { _, err := service.Info(t.Context(), "a.jpg", nil); faults <- err }()
		}
		synctest.Wait()
		if s := service.Stats(); s.Running != 1 || s.Waiting != 2 {
			t.Fatalf("stats %+v", s)
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := service.Shutdown(ctx); err == nil {
			t.Error("shutdown said nothing of the work it had to cancel")
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("shutdown took %s", took)
		}
		for range cap(faults) {
			wantCode(t, <-faults, media.CodeOverloaded)
		}
	})
}

// A decoder in C may go on for minutes, whatever it is told.
func TestShutdownLeavesWhatCannotBeStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		goOn := make(chan struct{})
		b.engine.run = func(context.Context, *media.Plan, transform.Begin) error {
			<-goOn
			return nil
		}
		told := make(chan error, 1)
		go func() { _, err := b.Do(t.Context(), job()); told <- err }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := b.Shutdown(ctx); err == nil || !strings.Contains(err.Error(), "1 cannot be stopped") {
			t.Errorf("shutdown says %v", err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("shutdown took %s", took)
		}
		wantCode(t, <-told, media.CodeOverloaded)
		close(goOn)
		synctest.Wait()
	})
}

// An engine sees a write that failed, not why: to a decoder in C it is one
// number.
func TestOutputsThatDoNotFitTellWhy(t *testing.T) {
	b := newBench(t, func(c *transform.Config) { c.Limits.OutputBytes = 1000 })
	b.engine.run = func(_ context.Context, _ *media.Plan, begin transform.Begin) error {
		for i := range 2 {
			out, err := begin(i, transform.Made{})
			if err != nil {
				return err
			}
			if _, err := out.Write(make([]byte, 500+i*1000)); err != nil {
				return media.Errorf(media.CodeCancelled, "The picture was given up.")
			}
		}
		return nil
	}
	res, err := b.Do(t.Context(), job(media.Size{Width: 10}, media.Size{Width: 20}))
	if err == nil {
		defer res.Close()
		err = drain(t, res.Outputs[1])
	}
	wantCode(t, err, media.CodeOutputBytes)
}

func TestAWatermarkIsPartOfTheMemoryBudget(t *testing.T) {
	b := newBench(t, func(c *transform.Config) { c.MemoryBudget = 16 << 20 })
	b.engine.info.Width, b.engine.info.Height = 2500, 2000
	j := job(media.Size{Width: 100})
	res, err := b.Do(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	res.Close()
	j.Request.Watermark = &media.Watermark{URL: "a.jpg", Opacity: 1}
	_, err = b.Do(t.Context(), j)
	wantCode(t, err, media.CodeMemory)
}

// A server with little memory answers HTTP/2 as it answers HTTP/1.1: nobody
// has asked for what does not fit.
func TestAJPEGIsProgressiveOnlyWhereThereIsMemoryForIt(t *testing.T) {
	for _, test := range []struct {
		name        string
		budget      int64
		asked       bool // by the URL
		progressive bool
		fault       media.Code
	}{
		{"it fits", 128 << 20, false, true, ""},
		{"it does not fit", 64 << 20, false, false, ""},
		{"it fits and was asked for", 128 << 20, true, true, ""},
		{"it does not fit and was asked for", 64 << 20, true, false, media.CodeMemory},
		{"the lines alone do not fit", 16 << 20, false, false, media.CodeMemory},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, func(c *transform.Config) { c.MemoryBudget = test.budget })
			b.engine.info.Width, b.engine.info.Height = 5000, 4000
			var progressive bool
			b.engine.run = func(ctx context.Context, plan *media.Plan, begin transform.Begin) error {
				progressive = plan.Outputs[0].Encode.Progressive
				return writeAll(ctx, plan, begin)
			}
			j := job()
			j.Request.Format, j.Request.ProgressiveJPEG, j.Request.Progressive = media.JPEG, true, test.asked
			res, err := b.Do(t.Context(), j)
			if test.fault != "" {
				wantCode(t, err, test.fault)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer res.Close()
			mustRead(t, res.Outputs[0])
			if progressive != test.progressive {
				t.Errorf("progressive: %t", progressive)
			}
			if _, variant, _ := strings.Cut(res.ETag, "."); (variant == "line") == progressive {
				t.Errorf("progressive %t under the tag %s", progressive, res.ETag)
			}
		})
	}
}

// panicking is a source with a fault of its own.
type panicking struct{}

func (panicking) Open(context.Context, string) (*source.Object, error) { panic("source") }

func TestAPanickingSourceGivesItsPlaceBack(t *testing.T) {
	b := newBench(t, nil)
	service := b.with(t, b.engine, panicking{})
	func() {
		defer func() { _ = recover() }()
		_, _ = service.Do(t.Context(), job())
	}()
	if s := service.Stats(); s.Originals.Fetches != 0 {
		t.Errorf("%d places are still taken", s.Originals.Fetches)
	}
}

func TestADescriptionNobodyWaitsForCountsAsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		service := b.with(t, describer{b.engine}, b.source)
		ctx, leave := context.WithCancel(t.Context())
		fault := make(chan error)
		go func() { _, err := service.Info(ctx, "a.jpg", nil); fault <- err }()
		synctest.Wait()
		leave()
		wantCode(t, <-fault, media.CodeCancelled)
		if failed := service.Stats().Failed; failed[media.CodeCancelled] != 1 || len(failed) != 1 {
			t.Errorf("counted %v", failed)
		}
	})
}
