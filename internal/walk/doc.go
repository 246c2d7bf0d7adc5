// Package walk lists the files below a folder page by page, in the order that
// an object store lists its keys in.
//
// Start in walk.go; there is nothing else.
// State: none between two calls.
// Files blocks on the disk, within ctx.
// It never leaves the root, and follows links to files but not to folders.
// Limits: it gives no more than it is asked for, and holds no more than a few
// times that in memory, however large a folder is.
package walk
