package derive

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spillway-media/spillway/internal/blob"
	"github.com/spillway-media/spillway/jobs"
)

// imageHandler does image.derive.
type imageHandler struct{ cfg Config }

// pictureMemory is what a picture under way holds besides the decoded pixels,
// for which the transform service has a budget of its own: the original, and
// the results until they are stored.
const pictureMemory = 32 << 20

// Need implements jobs.Handler.
func (h *imageHandler) Need(*jobs.Job) jobs.Need { return jobs.Need{Memory: pictureMemory, CPU: true} }

// imageResult is the result of image.derive.
type imageResult struct {
	Input   Original `json:"input"`
	Outputs []Output `json:"outputs"`
}

// Do implements jobs.Handler.
func (h *imageHandler) Do(ctx context.Context, task *jobs.Task) (json.RawMessage, error) {
	params, err := readImage(task.Job.Params, h.cfg.Limits)
	if err != nil {
		return nil, unreadable(err)
	}
	total := int64(len(params.outputs))
	task.Report(jobs.Progress{Total: total})
	outputs, original, err := h.cfg.maker(task).make(ctx, Picture{task.Job.Input, params.outputs}, func(n int) {
		task.Report(jobs.Progress{Done: int64(n), Total: total})
	})
	if err != nil {
		return nil, failure(ctx, err)
	}
	return encode(imageResult{original, outputs})
}

// maker writes below the job's own folder, as long as its lease holds.
func (c Config) maker(task *jobs.Task) maker {
	return maker{images: c.Images, blobs: blob.Fenced(c.Blobs, task.Fence), folder: fmt.Sprintf("jobs/%d", task.Job.ID)}
}

func encode(result any) (json.RawMessage, error) {
	raw, err := json.Marshal(result)
	if err != nil {
		return nil, fmt.Errorf("encode result: %w", err)
	}
	return raw, nil
}
