// Package blob holds what jobs make and what is uploaded for them: a folder, or
// a bucket of S3 and its like, behind one small interface.
//
// Start in blob.go (Store), then folder.go, bucket.go and fenced.go; key.go says
// what a key may be.
// State: a store holds none but its connection; what lies in it is all there is.
// Every method blocks on the disk or the network, within ctx.
// It never shows an object that is not there in whole, and never lets two
// writers who ask for IfNoneMatch both have the key.
// Limits: the length of keys, how many objects one List gives.
package blob
