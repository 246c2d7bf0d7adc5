// Package web is the playground: one page, embedded, that shows what the image
// server does to a picture, and the demo pictures it opens with.
//
// Start in web.go (what is served), then pictures.go (what the page lists);
// static/ holds the page, demo/ paints the pictures.
// State: none after New; the files are read once and kept with their ETags.
// Only listing a folder may block, and that is bounded in number and depth.
// It never transforms a picture, fetches a URL or calls another host.
// Limits: 60 pictures listed, 2,000 names and 4 folders deep looked at.
package web
