package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const (
	amazonEndpoint = "https://s3.amazonaws.com"
	// partBytes bounds the memory of an upload of unknown length.
	partBytes = 16 << 20
	attempts  = 3
	// headerTime is how long the store may take to begin its answer, once it has the request.
	headerTime = 15 * time.Second
)

// S3Config says which bucket keeps the blobs.
type S3Config struct {
	// Endpoint is an http or https address, "" is Amazon's.
	Endpoint string
	// Region may be empty: the server is asked.
	Region string
	// Bucket must exist. Prefix comes before every key.
	Bucket, Prefix string
	// AccessKeyID and SecretAccessKey sign the requests; both empty sends them
	// unsigned.
	AccessKeyID, SecretAccessKey string
}

// S3 is a Store in a bucket of an S3-compatible service. The operator chose its
// address, so it is reached without the guard of package httpx.
type S3 struct {
	core      minio.Core
	transport *http.Transport
	bucket    string
	prefix    string
}

// NewS3 makes a store in a bucket. It does not talk to it yet.
func NewS3(cfg S3Config) (*S3, error) {
	if cfg.Bucket == "" {
		return nil, errors.New("blob store: the bucket is missing")
	}
	if cfg.Endpoint == "" {
		cfg.Endpoint = amazonEndpoint
	}
	endpoint, err := url.Parse(cfg.Endpoint)
	if err != nil || (endpoint.Scheme != "http" && endpoint.Scheme != "https") || endpoint.Host == "" ||
		endpoint.User != nil || (endpoint.Path != "" && endpoint.Path != "/") {
		return nil, errors.New("blob store: the endpoint must look like https://host:port")
	}
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return nil, errors.New("blob store: the standard library's transport was replaced")
	}
	transport = transport.Clone()
	// What was stored compressed is given back as it was stored.
	transport.DisableCompression = true
	transport.ResponseHeaderTimeout = headerTime
	options := &minio.Options{
		Creds:      credentials.NewStaticV4(cfg.AccessKeyID, cfg.SecretAccessKey, ""),
		Secure:     endpoint.Scheme == "https",
		Transport:  transport,
		Region:     cfg.Region,
		MaxRetries: attempts,
	}
	if cfg.Endpoint != amazonEndpoint {
		options.BucketLookup = minio.BucketLookupPath
	}
	core, err := minio.NewCore(endpoint.Host, options)
	if err != nil {
		return nil, fmt.Errorf("blob store: %w", err)
	}
	return &S3{core: *core, transport: transport, bucket: cfg.Bucket, prefix: cfg.Prefix}, nil
}

// Check reports whether the bucket is there and may be used.
func (s *S3) Check(ctx context.Context) error {
	exists, err := s.core.BucketExists(ctx, s.bucket)
	if err != nil {
		return fmt.Errorf("blob store: look for bucket %s: %w", s.bucket, err)
	}
	if !exists {
		return fmt.Errorf("blob store: there is no bucket %s", s.bucket)
	}
	return nil
}

// Close frees the connections.
func (s *S3) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}

// Put implements [Store].
func (s *S3) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	if err := checkKey(key); err != nil {
		return err
	}
	content, err := exactly(ctx, r, size)
	if err == nil {
		_, err = s.core.Client.PutObject(ctx, s.bucket, s.name(key), content, size, minio.PutObjectOptions{
			ContentType: "application/octet-stream", PartSize: partBytes,
		})
	}
	if err != nil {
		return fmt.Errorf("store blob %s: %w", key, err)
	}
	return nil
}

// Open implements [Store].
func (s *S3) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	content, _, _, err := s.core.GetObject(ctx, s.bucket, s.name(key), minio.GetObjectOptions{})
	if missing(err) {
		return nil, fmt.Errorf("open blob %s: %w", key, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("open blob %s: %w", key, err)
	}
	return content, nil
}

// Delete implements [Store].
func (s *S3) Delete(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	err := s.core.RemoveObject(ctx, s.bucket, s.name(key), minio.RemoveObjectOptions{})
	if err != nil && !missing(err) {
		return fmt.Errorf("delete blob %s: %w", key, err)
	}
	return nil
}

func (s *S3) name(key string) string { return path.Join(s.prefix, key) }

func missing(err error) bool {
	response, ok := errors.AsType[minio.ErrorResponse](err)
	return ok && response.Code == minio.NoSuchKey
}
