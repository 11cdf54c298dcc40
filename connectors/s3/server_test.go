package s3_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/s3"
	"github.com/magpie-search/magpie/internal/devstack"
	"github.com/magpie-search/magpie/internal/httpx"
)

func TestMain(m *testing.M) { connectortest.Main(m) }

// dial connects through the guard, as in production, and allows loopback.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	guard := httpx.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")})
	return guard.DialContext(ctx, network, address)
}

// A bucket is a test's own bucket on the S3 server.
type bucket struct {
	name     string
	endpoint string
	access   string
	secret   string
	client   *minio.Client
}

var buckets atomic.Int64

// newBucket returns an empty bucket. Tests that share a server are subtests
// of one.
func newBucket(t testing.TB, server *devstack.S3) bucket {
	t.Helper()
	transport := &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 16}
	t.Cleanup(transport.CloseIdleConnections)
	client, err := minio.New(strings.TrimPrefix(server.Endpoint, "http://"), &minio.Options{
		Creds: credentials.NewStaticV4(server.AccessKey, server.SecretKey, ""), Transport: transport,
	})
	if err != nil {
		t.Fatalf("connect to the S3 server: %v", err)
	}
	b := bucket{
		name: fmt.Sprintf("bucket-%d", buckets.Add(1)), endpoint: server.Endpoint,
		access: server.AccessKey, secret: server.SecretKey, client: client,
	}
	if err := client.MakeBucket(t.Context(), b.name, minio.MakeBucketOptions{}); err != nil {
		t.Fatalf("make a bucket: %v", err)
	}
	return b
}

func (b bucket) put(t testing.TB, key string, content []byte, options minio.PutObjectOptions) {
	t.Helper()
	if _, err := b.client.PutObject(t.Context(), b.name, key, bytes.NewReader(content), int64(len(content)), options); err != nil {
		t.Errorf("put %q: %v", key, err) // not fatal: tests put from several goroutines
	}
}

// fill puts objects whose names are in the order of their numbers.
func (b bucket) fill(t testing.TB, count int) {
	t.Helper()
	const workers = 8
	var work sync.WaitGroup
	for worker := range workers {
		work.Go(func() {
			for number := worker; number < count; number += workers {
				b.put(t, fmt.Sprintf("%04d.md", number), []byte("x"), minio.PutObjectOptions{})
			}
		})
	}
	work.Wait()
}

func (b bucket) remove(t testing.TB, key string) {
	t.Helper()
	if err := b.client.RemoveObject(t.Context(), b.name, key, minio.RemoveObjectOptions{}); err != nil {
		t.Fatalf("delete %q: %v", key, err)
	}
}

// settings returns settings for the whole bucket. more overrides config fields.
func (b bucket) settings(more map[string]any) connectors.Settings {
	config := map[string]any{"bucket": b.name, "endpoint": b.endpoint}
	for name, value := range more {
		config[name] = value
	}
	return connectors.Settings{
		ConnectorID: "test", Config: config,
		Credentials: map[string]string{"accessKeyId": b.access, "secretAccessKey": b.secret},
	}
}

func open(t testing.TB, settings connectors.Settings) connectors.Source {
	t.Helper()
	registry, err := connectors.NewRegistry(s3.Kind(dial))
	if err != nil {
		t.Fatalf("register: %v", err)
	}
	kind, _ := registry.Lookup("s3")
	source, err := kind.New(t.Context(), settings)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { _ = source.Close() })
	return source
}

// A fixture is the part of a bucket below a prefix.
type fixture struct {
	bucket bucket
	prefix string
}

func (f fixture) Put(t testing.TB, path string, content []byte) {
	t.Helper()
	f.bucket.put(t, f.prefix+path, content, minio.PutObjectOptions{})
}

func (f fixture) Delete(t testing.TB, path string) {
	t.Helper()
	f.bucket.remove(t, f.prefix+path)
}
