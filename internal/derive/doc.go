// Package derive is the picture jobs: image.derive makes all sizes and formats
// of one picture, bulk.derive those of thousands, and uploads are originals
// that were sent for them.
//
// Start in kinds.go (what can be asked for) and params.go, then picture.go
// (one picture), image.go and bulk.go (the handlers).
// State: a handler has none but what it was made of; what a bulk job has done
// is in its checkpoints and nowhere else.
// Handlers block on the transform service, the blob store and their task.
// They never write an output twice differently, and nothing once the lease is
// lost: every write is fenced, and keys name the content.
// Limits: outputs of a picture, pictures of a job, how many are made at once.
package derive
