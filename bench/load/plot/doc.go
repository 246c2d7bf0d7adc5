// Package plot draws small line charts as SVG, for pages of either colour: no
// background, middle tones for marks, and text that follows the reader's
// setting.
//
// Start in chart.go (what a chart is and how it is drawn), then axis.go (ticks).
// State: none; equal charts give equal bytes.
// Nothing here blocks.
// It never reads a font, so texts are placed with room to spare.
// Limits: a handful of series with a handful of points; axes start at zero.
package plot
