package h2_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/spillway-media/spillway/h2"
)

func TestConfigureNamesFieldsOutOfTheirRange(t *testing.T) {
	tests := []struct {
		name   string
		server http.Server
		config h2.Config
		want   string // "" for none
	}{
		{"nothing is a good choice", http.Server{}, h2.Config{}, ""},
		{"a negative limit is named", http.Server{}, h2.Config{StreamBuffer: -1}, "StreamBuffer: -1 is negative"},
		{"so is a second one", http.Server{}, h2.Config{StreamBuffer: -1, MinSendRate: -2}, "MinSendRate: -2 is negative"},
		{"one request must fit a connection", http.Server{}, h2.Config{MaxHeaderBytes: 200, ConnHeaderBytes: 100}, "ConnHeaderBytes: 100 is less than MaxHeaderBytes, which is 200"},
		{"also one as large as is usual", http.Server{}, h2.Config{ConnHeaderBytes: 100}, "ConnHeaderBytes: 100 is less than MaxHeaderBytes, which is 65536"},
		{"or as the server has it", http.Server{MaxHeaderBytes: 1 << 20}, h2.Config{ConnHeaderBytes: 1 << 18}, "which is 1048576"},
		{"a server's large limit raises that of the connection", http.Server{MaxHeaderBytes: 8 << 20}, h2.Config{}, ""},
		{"a server's negative limit is none", http.Server{MaxHeaderBytes: -1}, h2.Config{}, ""},
	}
	for i := range tests {
		test := &tests[i]
		t.Run(test.name, func(t *testing.T) {
			_, err := h2.Configure(&test.server, test.config)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want %q", err, test.want)
			}
			if err != nil && (test.server.TLSConfig != nil || test.server.Protocols != nil || test.server.TLSNextProto != nil) {
				t.Error("the server was changed all the same")
			}
		})
	}
}
