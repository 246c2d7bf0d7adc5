// Package h2 is an HTTP/2 server (RFC 9113) that chooses, over all responses of
// a connection, whose bytes leave next. It serves any http.Handler.
//
// Start at Configure, which hands the HTTP/2 connections of an http.Server to
// this package, and SetPhase, by which handlers say what their bytes are; then
// conn, read, exchange, response, stream and write, in the order of a request.
// Of a connection one goroutine reads, one writes; a mutex guards what both and
// the handlers share. A handler runs in a goroutine of its own.
// Handlers block in Write when a stream's buffer is full, in Read for a body;
// the reader and the writer only block in the connection.
// It never pushes, and never upgrades from HTTP/1.1, which RFC 9113 has dropped.
// Limits are those of Config; what a connection may hold follows from them.
package h2
