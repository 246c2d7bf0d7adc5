package derive_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spillway-media/spillway/internal/blob"
	"github.com/spillway-media/spillway/internal/derive"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/jobs"
)

func TestUploadsAreInputsOfJobs(t *testing.T) {
	b := newBench(t, map[string][]byte{"a.jpg": scene(60, 40)})
	picture := string(scene(120, 80))
	id, n, err := b.uploads.Put(t.Context(), strings.NewReader(picture), 1<<20)
	if err != nil || n != int64(len(picture)) {
		t.Fatalf("%d bytes, %v", n, err)
	}
	got := mustDo[imageResult](t, b, enqueue(t, derive.TypeImage, "upload:"+id, `{"sizes":"60x0"}`), newHost())
	if o := got.Outputs[0]; o.Width != 60 || o.Height != 40 || got.Input.Width != 120 {
		t.Errorf("result %+v", got)
	}
	t.Run("the same bytes have another id each time, which nobody can guess", func(t *testing.T) {
		other, _, err := b.uploads.Put(t.Context(), strings.NewReader(picture), 1<<20)
		if err != nil || other == id || other[:32] == id[:32] || other[33:] != id[33:] {
			t.Errorf("ids %s and %s, %v", id, other, err)
		}
	})
	t.Run("what was swept is not there", func(t *testing.T) {
		for _, c := range []struct {
			before time.Time
			gone   bool
		}{{time.Now().Add(-time.Hour), false}, {time.Now().Add(time.Hour), true}} {
			if _, err := b.uploads.Sweep(t.Context(), c.before, jobRows{}); err != nil {
				t.Fatal(err)
			}
			object, err := b.sources.Open(t.Context(), "upload:"+id)
			if err == nil {
				object.Body.Close()
			}
			if gone := codeOf(err) == media.CodeSourceNotFound; gone != c.gone {
				t.Errorf("gone %v, %v", gone, err)
			}
		}
		if keys := b.keys(t, "jobs"); len(keys) != 1 {
			t.Errorf("of what the job made %v are left", keys)
		}
	})
}

// jobRows are the jobs there are, oldest first.
type jobRows []jobs.Job

func (rows jobRows) Jobs(_ context.Context, f jobs.Filter) (page []jobs.Job, err error) {
	for _, job := range slices.Backward(rows) {
		if job.State == f.State && (f.Before == 0 || job.ID < f.Before) && len(page) < f.Limit {
			page = append(page, job)
		}
	}
	return page, nil
}

// away is a database that does not answer.
type away struct{}

func (away) Jobs(context.Context, jobs.Filter) ([]jobs.Job, error) { return nil, jobs.ErrUnavailable }

func TestWhatAJobNeedsIsNotSwept(t *testing.T) {
	b := newBench(t, nil)
	put := func() string {
		id, _, err := b.uploads.Put(t.Context(), strings.NewReader("x"), 10)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	var rows jobRows
	needs := func(state jobs.State, input, params string) {
		rows = append(rows, jobs.Job{ID: jobs.ID(len(rows) + 1), State: state, Spec: jobs.Spec{Input: input, Params: json.RawMessage(params)}})
	}
	kept := map[string]string{}
	for what, state := range map[string]jobs.State{"waits": jobs.Queued, "runs": jobs.Running, "failed": jobs.Failed, "was cancelled": jobs.Cancelled} {
		id := put()
		kept[what] = id
		needs(state, "upload:"+id, `{}`)
	}
	for what, params := range map[string]string{
		"lists it":            `{"inputs":["a.jpg","upload:%s"]}`,
		"has it as watermark": `{"watermark":"upload:%s"}`,
		"spells it otherwise": `{"inputs":["\u0075pload\u003a%s"]}`,
	} {
		id := put()
		kept[what] = id
		needs(jobs.Queued, "", fmt.Sprintf(params, id))
	}
	for range 120 { // more than a page
		needs(jobs.Queued, "a.jpg", `{}`)
	}
	done, unused := put(), put()
	needs(jobs.Succeeded, "upload:"+done, `{}`)

	later := time.Now().Add(time.Hour)
	if n, err := b.uploads.Sweep(t.Context(), later, away{}); n != 0 || !errors.Is(err, jobs.ErrUnavailable) {
		t.Errorf("without a database %d were removed, %v", n, err)
	}
	if n, err := b.uploads.Sweep(t.Context(), later, rows); err != nil || n != 2 {
		t.Errorf("%d were removed, %v", n, err)
	}
	left := b.keys(t, "uploads")
	for what, id := range kept {
		if !slices.Contains(left, "uploads/"+id) {
			t.Errorf("the upload of a job is gone that %s", what)
		}
	}
	for _, id := range []string{done, unused} {
		if slices.Contains(left, "uploads/"+id) {
			t.Errorf("%s is still there", id)
		}
	}
}

// unheard is a blob store whose first answer is lost, so that its client asks again.
type unheard struct{ blob.Store }

func (u unheard) Put(ctx context.Context, key string, body io.ReadSeeker, size int64, o blob.PutOptions) (blob.Info, error) {
	if _, err := u.Store.Put(ctx, key, body, size, o); err != nil {
		return blob.Info{}, err
	}
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return blob.Info{}, err
	}
	return u.Store.Put(ctx, key, body, size, o)
}

func TestAnUploadThatIsSentTwiceIsStored(t *testing.T) {
	b := newBench(t, nil)
	if _, _, err := derive.NewUploads(unheard{b.cfg.Blobs}, "").Put(t.Context(), strings.NewReader("x"), 10); err != nil {
		t.Error(err)
	}
}

func codeOf(err error) media.Code {
	var coded *media.Error
	if errors.As(err, &coded) {
		return coded.Code
	}
	return ""
}

func TestUploadsHaveLimits(t *testing.T) {
	b := newBench(t, nil)
	for _, c := range []struct {
		name, body string
		most       int64
		code       media.Code
	}{
		{"as many bytes as are taken", "12345", 5, ""},
		{"one more", "123456", 5, media.CodeSourceTooLarge},
		{"none", "", 5, media.CodeInvalidParameter},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := len(b.keys(t, "uploads"))
			_, _, err := b.uploads.Put(t.Context(), strings.NewReader(c.body), c.most)
			if codeOf(err) != c.code {
				t.Errorf("got %v", err)
			}
			if added := len(b.keys(t, "uploads")) - before; (added == 1) != (c.code == "") {
				t.Errorf("%d were stored", added)
			}
		})
	}
	t.Run("a body that breaks is nothing", func(t *testing.T) {
		lost := errors.New("the client is gone")
		_, _, err := b.uploads.Put(t.Context(), io.MultiReader(strings.NewReader("half"), broken{lost}), 100)
		if !errors.Is(err, lost) || len(b.keys(t, "uploads")) != 1 {
			t.Errorf("got %v with %v", err, b.keys(t, "uploads"))
		}
	})
}

type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

func TestUploadsOpen(t *testing.T) {
	b := newBench(t, map[string][]byte{"upload": []byte("a file")})
	id, _, err := b.uploads.Put(t.Context(), strings.NewReader("content"), 100)
	if err != nil {
		t.Fatal(err)
	}
	object, err := b.sources.Open(t.Context(), "upload:"+id)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(object.Body)
	if err != nil || string(content) != "content" || object.Size != 7 || object.ETag == "" {
		t.Errorf("%q, %+v, %v", content, object.Meta, err)
	}
	object.Body.Close()
	t.Run("who holds it need not read it again", func(t *testing.T) {
		again, err := b.sources.OpenIf(t.Context(), "upload:"+id, object.Meta)
		if err != nil || !again.Unchanged || again.Body != nil {
			t.Errorf("%+v, %v", again, err)
		}
	})
	t.Run("everything else goes on", func(t *testing.T) {
		object, err := b.sources.Open(t.Context(), "upload")
		if err != nil || object.Kind != source.KindFile {
			t.Fatalf("%+v, %v", object, err)
		}
		object.Body.Close()
	})
	for ref, code := range map[string]media.Code{
		"upload:":               media.CodeInvalidParameter,
		"upload:../jobs/7/x":    media.CodeInvalidParameter,
		"upload:" + id + "/":    media.CodeInvalidParameter,
		upload:                  media.CodeSourceNotFound,
		strings.ToUpper(upload): media.CodeSourceNotFound, // a file of that name
	} {
		t.Run("nothing is at "+ref, func(t *testing.T) {
			if _, err := b.sources.Open(t.Context(), ref); codeOf(err) != code {
				t.Errorf("got %v, want %s", err, code)
			}
		})
	}
	t.Run("larger ones than originals may be are refused", func(t *testing.T) {
		small := b.uploads.Opener(b.sources.Conditional, 6)
		if _, err := small.Open(t.Context(), "upload:"+id); codeOf(err) != media.CodeSourceTooLarge {
			t.Errorf("got %v", err)
		}
	})
	t.Run("one that was cut off is no good", func(t *testing.T) {
		key := "uploads/" + id
		object, err := derive.NewUploads(cut{b.cfg.Blobs}, "").Opener(b.sources.Conditional, 100).Open(t.Context(), "upload:"+id)
		if err != nil {
			t.Fatal(err)
		}
		defer object.Body.Close()
		if _, err := io.ReadAll(object.Body); codeOf(err) != media.CodeSourceFailed {
			t.Errorf("%s ended with %v", key, err)
		}
	})
}

// The system's own folder for temporary files may be one that cannot be written.
func TestTemporaryFilesLieWhereTheyWereTold(t *testing.T) {
	b := newBench(t, gallery(2))
	t.Setenv("TMPDIR", filepath.Join(b.root, "nowhere"))
	if _, _, err := b.uploads.Put(t.Context(), strings.NewReader("x"), 10); err != nil {
		t.Error(err)
	}
	mustDo[summary](t, b, enqueue(t, derive.TypeBulk, "", `{"prefix":"in/","sizes":"30x0"}`), newHost())
}
