package derive_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-media/spillway/internal/derive"
	"github.com/spillway-media/spillway/internal/media"
	"github.com/spillway-media/spillway/jobs"
)

// fields are the fields at fault, in order.
func fields(err error) (all []string) {
	for _, fault := range jobs.SpecErrors(err) {
		all = append(all, fault.Field)
	}
	slices.Sort(all)
	return all
}

func check(kind, input, params string) (*jobs.Spec, error) {
	spec := &jobs.Spec{Type: kind, Input: input, Params: json.RawMessage(params)}
	return spec, derive.Kinds(media.DefaultLimits())[kind].Check(spec)
}

const upload = "upload:0123456789abcdef0123456789abcdef-0123456789abcdef"

func TestParamsOfImageDerive(t *testing.T) {
	cases := []struct {
		name, input, params string
		wrong               []string
	}{
		{"sizes and formats", "a.jpg", `{"sizes":"300x0,1200x0","format":"webp,avif","quality":60}`, nil},
		{"lists of texts", "a.jpg", `{"sizes":["300x0","1200x0"],"format":["webp","avif"]}`, nil},
		{"numbers and switches", "a.jpg", `{"sizes":"300x0","quality":60,"enlarge":true,"dpr":1.5}`, nil},
		{"nothing but the input", "a.jpg", `{}`, nil},
		{"a URL", "https://example.com/a.jpg?b=c", `{}`, nil},
		{"an object", "s3://bucket/a.jpg", `{}`, nil},
		{"an upload", upload, `{}`, nil},
		{"an upload as the watermark", "a.jpg", `{"watermark":"` + upload + `"}`, nil},
		{"a watermark of another scheme", "a.jpg", `{"watermark":"file:///etc/passwd"}`, []string{"params.watermark"}},
		{"a watermark that is no upload", "a.jpg", `{"watermark":"upload:x"}`, []string{"params.watermark"}},
		{"no input", "", `{}`, []string{"input"}},
		{"another scheme", "file:///etc/passwd", `{}`, []string{"input"}},
		{"what is no upload", "upload:../../x", `{}`, []string{"input"}},
		{"an unknown parameter", "a.jpg", `{"size":"300x0"}`, []string{"params.size"}},
		{"a value out of range", "a.jpg", `{"quality":101}`, []string{"params.quality"}},
		{"several faults, all told", "", `{"quality":101,"sizes":"x","hue":1}`, []string{"input", "params.hue", "params.quality", "params.sizes"}},
		{"a fault that only one format has", "a.jpg", `{"format":"webp,jpeg","lossless":true}`, []string{"params.lossless"}},
		{"an unknown format among good ones", "a.jpg", `{"format":"webp,bmp"}`, []string{"params.format"}},
		{"an empty format", "a.jpg", `{"format":"webp,"}`, []string{"params.format"}},
		{"an object as a value", "a.jpg", `{"sizes":{"w":300}}`, []string{"params.sizes"}},
		{"null as a value", "a.jpg", `{"quality":null}`, []string{"params.quality"}},
		{"an empty list", "a.jpg", `{"sizes":[]}`, []string{"params.sizes"}},
		{"how an answer travels", "a.jpg", `{"encoder":"json","placeholders":"blurhash"}`, []string{"params.encoder", "params.placeholders"}},
		{"no object", "a.jpg", `[]`, []string{"params"}},
		{"too many of one", "a.jpg", `{"sizes":"` + sizes(16) + `","format":"webp,avif,jpeg,png,gif"}`, []string{"params.sizes"}},
		{"a format a thousand times", "a.jpg", `{"format":"` + strings.Repeat("webp,", 1000) + `webp"}`, []string{"params.format"}},
		{"more fields than there are", "a.jpg", manyFields(1000), []string{"params"}},
		{"what bulk.derive takes", "a.jpg", `{"prefix":"x"}`, []string{"params.prefix"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := check(derive.TypeImage, c.input, c.params)
			if diff := cmp.Diff(c.wrong, fields(err)); diff != "" || err == nil != (c.wrong == nil) {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

func manyFields(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`"p%d":1`, i)
	}
	return "{" + strings.Join(all, ",") + "}"
}

func sizes(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%dx0", 100+i)
	}
	return strings.Join(all, ",")
}

func TestParamsOfBulkDerive(t *testing.T) {
	cases := []struct {
		name, input, params string
		wrong               []string
	}{
		{"a list", "", `{"inputs":["a.jpg","https://example.com/b.jpg","` + upload + `"],"sizes":"300x0"}`, nil},
		{"a prefix", "", `{"prefix":"photos/2026/","sizes":"300x0","concurrency":8,"max_failures":0,"into":"cache"}`, nil},
		{"all of the root", "", `{"prefix":""}`, nil},
		{"an input", "a.jpg", `{"prefix":""}`, []string{"input"}},
		{"neither", "", `{"sizes":"300x0"}`, []string{"params.inputs"}},
		{"both", "", `{"inputs":["a"],"prefix":"b"}`, []string{"params.inputs"}},
		{"an empty list", "", `{"inputs":[]}`, []string{"params.inputs"}},
		{"null for a list", "", `{"inputs":null}`, []string{"params.inputs"}},
		{"a list of numbers", "", `{"inputs":[1]}`, []string{"params.inputs"}},
		{"an empty input among good ones", "", `{"inputs":["a","","b"]}`, []string{"params.inputs[1]"}},
		{"an input with a control character", "", `{"inputs":["a\u0000"]}`, []string{"params.inputs[0]"}},
		{"an input that is too long", "", `{"inputs":["` + strings.Repeat("a", 5000) + `"]}`, []string{"params.inputs[0]"}},
		{"an upload into the cache", "", `{"inputs":["` + upload + `"],"into":"cache"}`, []string{"params.inputs[0]"}},
		{"an upload as the watermark into the cache", "", `{"prefix":"","watermark":"` + upload + `","into":"cache"}`, []string{"params.watermark"}},
		{"too many at once", "", `{"prefix":"","concurrency":33}`, []string{"params.concurrency"}},
		{"none at once", "", `{"prefix":"","concurrency":0}`, []string{"params.concurrency"}},
		{"half of one at once", "", `{"prefix":"","concurrency":1.5}`, []string{"params.concurrency"}},
		{"into nowhere", "", `{"prefix":"","into":"disk"}`, []string{"params.into"}},
		{"less than no failures", "", `{"prefix":"","max_failures":-1}`, []string{"params.max_failures"}},
		{"a share of failures", "", `{"prefix":"","max_failures":"100%"}`, []string{"params.max_failures"}},
		{"null failures", "", `{"prefix":"","max_failures":null}`, []string{"params.max_failures"}},
		{"a prefix above the root", "", `{"prefix":"../"}`, []string{"params.prefix"}},
		{"a prefix with an empty name", "", `{"prefix":"a//b"}`, []string{"params.prefix"}},
		{"a URL as a prefix", "", `{"prefix":"https://example.com/"}`, []string{"params.prefix"}},
		{"a fault of the pictures", "", `{"prefix":"","quality":0}`, []string{"params.quality"}},
		{"faults of both, all told", "", `{"prefix":1,"quality":0,"into":2}`, []string{"params.into", "params.prefix", "params.quality"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := check(derive.TypeBulk, c.input, c.params)
			if diff := cmp.Diff(c.wrong, fields(err)); diff != "" || err == nil != (c.wrong == nil) {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
	t.Run("five faults of a list are enough", func(t *testing.T) {
		_, err := check(derive.TypeBulk, "", `{"inputs":["`+strings.Repeat(`","`, 100)+`"]}`)
		if n := len(fields(err)); n != 5 {
			t.Errorf("%d are told", n)
		}
	})
	t.Run("more pictures than a job makes", func(t *testing.T) {
		list, _ := json.Marshal(slices.Repeat([]string{"a"}, 20_000))
		_, err := check(derive.TypeBulk, "", `{"inputs":`+string(list)+`,"sizes":"`+sizes(11)+`"}`)
		if diff := cmp.Diff([]string{"params.inputs"}, fields(err)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestKindsSayWhereJobsGo(t *testing.T) {
	kinds := derive.Kinds(media.DefaultLimits())
	for name, want := range map[string]jobs.Kind{
		derive.TypeImage: {Type: derive.TypeImage, Queue: "images", Priority: 5},
		derive.TypeBulk:  {Type: derive.TypeBulk, Queue: "bulk", Priority: 8, Checkpointable: true, WorkLimit: 24 * time.Hour},
	} {
		got := kinds[name]
		if got.Queue != want.Queue || got.Priority != want.Priority || got.Checkpointable != want.Checkpointable || got.Type != name || got.WorkLimit != want.WorkLimit {
			t.Errorf("%s is %+v", name, got)
		}
	}
	spec, err := check(derive.TypeBulk, "", `{"inputs":["a","b","c","d","e","f","g","h","i","j"],"sizes":"1x0,2x0"}`)
	if err != nil || spec.EstimatedSeconds != 3 {
		t.Errorf("it is thought to take %v s, %v", spec.EstimatedSeconds, err)
	}
	spec = &jobs.Spec{Input: "a", Params: json.RawMessage(`{}`), EstimatedSeconds: 77}
	if err := kinds[derive.TypeImage].Check(spec); err != nil || spec.EstimatedSeconds != 77 {
		t.Errorf("what was said became %v, %v", spec.EstimatedSeconds, err)
	}
}

// Whatever is sent, there is either a job that its handler can read, or faults
// that name their fields.
func FuzzParams(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"sizes":"300x0","format":"webp,avif"}`, `{"inputs":["a"]}`, `{"prefix":"a","into":"cache"}`, `{"sizes":[1]}`,
		`{"format":",,"}`, `{"":""}`, `{"prefix":null,"inputs":{}}`, `[]`, `null`, `{"crop":"1,2,3,4","gravity":"0.1,0.2"}`, `{"quality":1e999}`,
	} {
		f.Add(seed, "a.jpg")
	}
	f.Fuzz(func(t *testing.T, params, input string) {
		for _, kind := range []string{derive.TypeImage, derive.TypeBulk} {
			spec, err := check(kind, input, params)
			if err == nil {
				if again, err := check(kind, input, string(spec.Params)); err != nil || again.EstimatedSeconds < 1 {
					t.Errorf("%s took %q once, and then: %v", kind, params, err)
				}
				continue
			}
			faults := jobs.SpecErrors(err)
			if len(faults) == 0 {
				t.Errorf("%s refused %q without a field: %v", kind, params, err)
			}
			for _, fault := range faults {
				if fault.Field == "" || fault.Detail == "" || len(fault.Detail) > 1000 {
					t.Errorf("fault %+v of %q", fault, params)
				}
			}
			if errors.As(err, new(*media.Error)) {
				t.Errorf("the parser's own error came through: %v", err)
			}
		}
	})
}
