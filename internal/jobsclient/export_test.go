package jobsclient

import "net/http"

// NewRemoteOver is for a server behind a transport of a test.
func NewRemoteOver(transport http.RoundTripper) *Remote {
	r, err := NewRemote("http://server.test", "")
	if err != nil {
		panic(err)
	}
	r.client.Transport = transport
	return r
}
