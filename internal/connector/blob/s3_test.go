package blob_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/magpie-search/magpie/internal/connector/blob"
	"github.com/magpie-search/magpie/internal/connector/blob/blobtest"
	"github.com/magpie-search/magpie/internal/devstack"
	"github.com/magpie-search/magpie/internal/testkit"
)

func newBucket(t *testing.T, server *devstack.S3, name string) {
	t.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client, err := minio.New(strings.TrimPrefix(server.Endpoint, "http://"), &minio.Options{
		Creds: credentials.NewStaticV4(server.AccessKey, server.SecretKey, ""), Transport: transport,
	})
	if err != nil {
		t.Fatalf("connect to the S3 server: %v", err)
	}
	if err := client.MakeBucket(t.Context(), name, minio.MakeBucketOptions{}); err != nil {
		t.Fatalf("make a bucket: %v", err)
	}
}

func openAddress(t *testing.T, server *devstack.S3, address string) blob.Store {
	t.Helper()
	store, err := blob.Open(t.Context(), address, blob.Credentials{AccessKeyID: server.AccessKey, SecretAccessKey: server.SecretKey})
	if err != nil {
		t.Fatalf("open %s: %v", address, err)
	}
	t.Cleanup(func() {
		if closer, ok := store.(io.Closer); ok {
			_ = closer.Close()
		}
	})
	return store
}

func TestS3IsAStore(t *testing.T) {
	t.Parallel()
	server := testkit.S3(t)
	var count atomic.Int64
	blobtest.Run(t, func(t *testing.T) blob.Store {
		name := fmt.Sprintf("blobs-%d", count.Add(1))
		newBucket(t, server, name)
		return openAddress(t, server, "s3://"+name+"/some/prefix?region=us-east-1&endpoint="+server.Endpoint)
	})
}

func TestPrefixesOfABucketAreSeparate(t *testing.T) {
	t.Parallel()
	server := testkit.S3(t)
	newBucket(t, server, "shared")
	first := openAddress(t, server, "s3://shared/first/?endpoint="+server.Endpoint)
	second := openAddress(t, server, "s3://shared/second?endpoint="+server.Endpoint)
	if err := first.Put(t.Context(), "key", strings.NewReader("1"), 1); err != nil {
		t.Fatal(err)
	}
	if reader, err := second.Open(t.Context(), "key"); !errors.Is(err, blob.ErrNotFound) {
		if err == nil {
			_ = reader.Close()
		}
		t.Errorf("the other prefix: got %v, want ErrNotFound", err)
	}
	if err := second.Delete(t.Context(), "key"); err != nil {
		t.Fatal(err)
	}
	reader, err := first.Open(t.Context(), "key")
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	if err := reader.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpenReportsAnUnusableBucket(t *testing.T) {
	t.Parallel()
	server := testkit.S3(t)
	newBucket(t, server, "present")
	for name, c := range map[string]struct{ bucket, secret string }{
		"missing":      {"absent", server.SecretKey},
		"wrong secret": {"present", "wrong-secret"},
	} {
		address := "s3://" + c.bucket + "?region=us-east-1&endpoint=" + server.Endpoint
		_, err := blob.Open(t.Context(), address, blob.Credentials{AccessKeyID: server.AccessKey, SecretAccessKey: c.secret})
		if err == nil {
			t.Errorf("%s: opened", name)
		} else if !strings.Contains(err.Error(), c.bucket) || strings.Contains(err.Error(), c.secret) {
			t.Errorf("%s: got %v, want it to name the bucket and not the secret", name, err)
		}
	}
}
