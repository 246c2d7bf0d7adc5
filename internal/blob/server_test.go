package blob_test

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spillway-media/spillway/internal/blob"
	"github.com/spillway-media/spillway/internal/source"
)

const (
	accessKey = "spillway-test"
	secretKey = "spillway-test-secret"
	bucket    = "outputs"
)

// bucketOn opens a bucket of the server, which it makes.
func bucketOn(t *testing.T, endpoint, below string) open {
	t.Helper()
	client := s3.New(s3.Options{
		BaseEndpoint: &endpoint, Region: "us-east-1", UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(accessKey, secretKey, ""),
	})
	name := bucket
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatal(err)
	}
	return func(t *testing.T) blob.Store {
		return openAt(t, blob.Config{
			Location: "s3://" + bucket + below,
			S3:       source.S3{Endpoint: endpoint, Region: "us-east-1", PathStyle: true, AccessKey: accessKey, SecretKey: secretKey},
		})
	}
}

// startServer runs a real S3 server over an empty folder and gives its address.
func startServer(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join("..", "..", "scripts", "versitygw.sh")).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			out = exit.Stderr
		}
		t.Fatalf("the S3 server for this test could not be built by scripts/versitygw.sh: %v\n%s", err, out)
	}
	for range 5 {
		if address, ok := tryServer(t, strings.TrimSpace(string(out))); ok {
			return "http://" + address
		}
	}
	t.Fatal("the S3 server for this test did not start in five attempts")
	return ""
}

// tryServer is false when another process took the free port meanwhile.
func tryServer(t *testing.T, binary string) (string, bool) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()

	var log bytes.Buffer
	command := exec.Command(binary, "--port", address, "--quiet", "posix", "--sidecar", t.TempDir(), t.TempDir())
	command.Env = append(os.Environ(), "ROOT_ACCESS_KEY_ID="+accessKey, "ROOT_SECRET_ACCESS_KEY="+secretKey)
	command.Stdout, command.Stderr = &log, &log
	if err := command.Start(); err != nil {
		t.Fatalf("start the S3 server: %v", err)
	}
	gone := make(chan struct{})
	go func() {
		_ = command.Wait()
		close(gone)
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-gone
	})
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(30 * time.Second)
	for {
		select {
		case <-gone:
			t.Logf("the S3 server has gone: %s", log.String())
			return "", false
		case <-deadline:
			t.Fatal("the S3 server did not answer within 30 s")
		case <-ticker.C:
			if conn, err := net.Dial("tcp", address); err == nil {
				conn.Close()
				return address, true
			}
		}
	}
}
