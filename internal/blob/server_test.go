package blob_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/spillway-media/spillway/internal/blob"
	"github.com/spillway-media/spillway/internal/source"
	"github.com/spillway-media/spillway/internal/testservices"
)

const bucket = "outputs"

// bucketOn opens a bucket of the server, which it makes.
func bucketOn(t *testing.T, endpoint, below string) open {
	t.Helper()
	client := s3.New(s3.Options{
		BaseEndpoint: &endpoint, Region: "us-east-1", UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(testservices.S3AccessKey, testservices.S3SecretKey, ""),
	})
	name := bucket
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatal(err)
	}
	return func(t *testing.T) blob.Store {
		return openAt(t, blob.Config{
			Location: "s3://" + bucket + below,
			S3:       source.S3{Endpoint: endpoint, Region: "us-east-1", PathStyle: true, AccessKey: testservices.S3AccessKey, SecretKey: testservices.S3SecretKey},
		})
	}
}
