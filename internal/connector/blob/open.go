package blob

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// Credentials sign the requests of an S3 store.
type Credentials struct{ AccessKeyID, SecretAccessKey string }

// Open opens the store at an address:
//
//	file:///var/lib/magpie/blobs
//	s3://bucket/prefix?endpoint=http://127.0.0.1:9000&region=us-east-1
//
// The endpoint defaults to Amazon's, the region to that of the server. Open returns
// an error if the bucket does not exist or may not be used. The stores implement
// io.Closer.
func Open(ctx context.Context, address string, c Credentials) (Store, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("blob store: the address is no URL; write file:///folder or s3://bucket/prefix")
	}
	if parsed.User != nil || parsed.Fragment != "" {
		return nil, errors.New("blob store: the address must have neither user, password nor fragment")
	}
	switch parsed.Scheme {
	case "file":
		if parsed.Host != "" || parsed.RawQuery != "" || !strings.HasPrefix(parsed.Path, "/") {
			return nil, errors.New("blob store: a folder is written as file:///absolute/path")
		}
		return NewDir(filepath.FromSlash(parsed.Path))
	case "s3":
		query := parsed.Query()
		for name := range query {
			if name != "endpoint" && name != "region" {
				return nil, fmt.Errorf("blob store: unknown parameter %q; endpoint and region are known", name)
			}
		}
		store, err := NewS3(S3Config{
			Endpoint: query.Get("endpoint"), Region: query.Get("region"),
			Bucket: parsed.Host, Prefix: strings.Trim(parsed.Path, "/"),
			AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey,
		})
		if err != nil {
			return nil, err
		}
		if err := store.Check(ctx); err != nil {
			return nil, errors.Join(err, store.Close())
		}
		return store, nil
	default:
		return nil, fmt.Errorf("blob store: unknown scheme %q; write file:///folder or s3://bucket/prefix", parsed.Scheme)
	}
}
