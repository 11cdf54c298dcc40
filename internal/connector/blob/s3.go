package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const (
	amazonEndpoint = "https://s3.amazonaws.com"
	// partBytes limits the memory of an upload of unknown length.
	partBytes = 16 << 20
	attempts  = 3
	// responseTimeout is how long the store may take to start its response.
	responseTimeout = 15 * time.Second
)

// S3Config configures an S3 store.
type S3Config struct {
	// Endpoint is an HTTP or HTTPS address. Default: Amazon's.
	Endpoint string
	// Region is optional; the server knows it.
	Region string
	// Bucket must exist. Prefix is prepended to every key.
	Bucket, Prefix string
	// AccessKeyID and SecretAccessKey sign the requests. If both are empty,
	// requests are not signed.
	AccessKeyID, SecretAccessKey string
}

// S3 is a Store in a bucket of an S3-compatible service. The operator configures
// its address, so requests bypass the guard of package httpx.
type S3 struct {
	core      minio.Core
	transport *http.Transport
	bucket    string
	prefix    string
}

// NewS3 returns a store in a bucket. It sends no request.
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
	// Content that was stored compressed is returned compressed.
	transport.DisableCompression = true
	transport.ResponseHeaderTimeout = responseTimeout
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

// Check returns an error if the bucket does not exist or may not be used.
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

// Close closes idle connections.
func (s *S3) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}

// Put implements [Store].
func (s *S3) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	if err := checkKey(key); err != nil {
		return err
	}
	content, err := withSize(ctx, r, size)
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
	if isMissing(err) {
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
	if err != nil && !isMissing(err) {
		return fmt.Errorf("delete blob %s: %w", key, err)
	}
	return nil
}

// List implements [Store].
func (s *S3) List(ctx context.Context, folder string, visit func(Entry) error) error {
	if err := checkFolder(folder); err != nil {
		return err
	}
	within := ""
	if s.prefix != "" {
		within = s.prefix + "/"
	}
	prefix := within
	if folder != "" {
		prefix += folder + "/"
	}
	for object := range s.core.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		if object.Err != nil {
			return fmt.Errorf("list blobs: %w", object.Err)
		}
		key := strings.TrimPrefix(object.Key, within)
		if checkKey(key) != nil {
			continue
		}
		if err := visit(Entry{Key: key, Bytes: object.Size}); err != nil {
			return fmt.Errorf("list blobs: %w", err)
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("list blobs: %w", err)
	}
	return nil
}

func (s *S3) name(key string) string { return path.Join(s.prefix, key) }

func isMissing(err error) bool {
	response, ok := errors.AsType[minio.ErrorResponse](err)
	return ok && response.Code == minio.NoSuchKey
}
