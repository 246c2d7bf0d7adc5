// Package placeholder makes what a page shows until a picture is there:
// BlurHash, ThumbHash, a tiny picture as a data URI, and the dominant colour.
//
// Start in placeholder.go (Picture), then thumbhash.go, lqip.go, palette.go.
// State: none; a Picture is only read, so that goroutines may share one.
// Nothing blocks; each function takes well under a millisecond of one core.
// It never decodes or resizes: the pixels come from the decode of the picture itself.
// Limits: a Picture has 1 to 100 pixels a side, as ThumbHash asks.
package placeholder
