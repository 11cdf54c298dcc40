package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"

	"github.com/magpie-search/magpie/connectors"
)

const (
	amazonHost = "s3.amazonaws.com"

	maxCheckedObjects = 3
	maxCheckedBytes   = 64 << 10
)

var (
	errClosed  = errors.New("the source is closed")
	errChanged = errors.New("it was changed since it was listed")
)

type source struct {
	core      minio.Core
	transport *transport
	bucket    string
	prefix    string
	// folder is the prefix up to its last slash. Paths do not have it.
	folder    string
	baseURL   string // of objects
	anonymous bool
	closed    atomic.Bool
}

func newSource(settings connectors.Settings, dial connectors.Dial) (*source, error) {
	if dial == nil {
		return nil, errors.New("open an s3 source: no dialer was given")
	}
	s := &source{
		transport: newTransport(dial),
		bucket:    settings.String(optionBucket),
		prefix:    strings.TrimLeft(settings.String(optionPrefix), "/"),
		anonymous: settings.Credentials[credentialID] == "",
	}
	s.folder = s.prefix[:strings.LastIndexByte(s.prefix, '/')+1]
	endpoint := &url.URL{Scheme: "https", Host: amazonHost}
	region := settings.String(optionRegion)
	if text := settings.String(optionEndpoint); text != "" {
		var err error
		if endpoint, err = parseEndpoint(text); err != nil {
			return nil, connectors.Fatal(fmt.Errorf("open an s3 source: config.%s %w", optionEndpoint, err))
		}
	}
	s.baseURL = objectBaseURL(endpoint, s.bucket, region)
	core, err := minio.NewCore(endpoint.Host, &minio.Options{
		Creds:        credentials.NewStaticV4(settings.Credentials[credentialID], settings.Credentials[credentialSecret], ""),
		Secure:       endpoint.Scheme == "https",
		Transport:    s.transport,
		Region:       region,
		BucketLookup: minio.BucketLookupAuto, // by path, except for services known to want names
		MaxRetries:   1,                      // the caller of the source retries
	})
	if err != nil {
		return nil, connectors.Fatal(fmt.Errorf("open an s3 source: %s", printable(err.Error())))
	}
	s.core = *core
	return s, nil
}

// objectBaseURL returns the start of the web address of every object.
func objectBaseURL(endpoint *url.URL, bucket, region string) string {
	if endpoint.Host != amazonHost {
		return endpoint.String() + "/" + bucket + "/"
	}
	host := amazonHost
	if region != "" {
		host = "s3." + region + ".amazonaws.com"
		if strings.HasPrefix(region, "cn-") {
			host += ".cn"
		}
	}
	if strings.Contains(bucket, ".") { // the certificate covers one label only
		return "https://" + host + "/" + bucket + "/"
	}
	return "https://" + bucket + "." + host + "/"
}

// Walk implements [connectors.Source]. The cursor is the last key seen.
func (s *source) Walk(ctx context.Context, cursor string) (connectors.Page, error) {
	action := fmt.Sprintf("list the bucket %q", s.bucket)
	if err := s.checkOpen(ctx, action); err != nil {
		return connectors.Page{}, err
	}
	if len(cursor) > connectors.MaxIDBytes || !utf8.ValidString(cursor) {
		return connectors.Page{}, connectors.Fatal(fmt.Errorf("%s: the cursor is not one of this connector", action))
	}
	c := &call{maxBody: maxListingBytes, maxRequests: maxListingRequests}
	// One more key than fits on a page shows whether there is another page.
	objects := s.core.ListObjectsIter(withCall(ctx, c), s.bucket, minio.ListObjectsOptions{
		Prefix: s.prefix, Recursive: true, StartAfter: cursor, MaxKeys: connectors.MaxPageItems + 1, FetchOwner: new(bool),
	})
	page := connectors.Page{Next: cursor, Done: true}
	keys, ordered := 0, true
	for object := range objects {
		if object.Err != nil {
			return connectors.Page{}, s.markError(ctx, c, action, object.Err)
		}
		if !strings.HasPrefix(object.Key, s.prefix) {
			return connectors.Page{}, connectors.Fatal(fmt.Errorf("%s: the service ignores prefixes: it listed %q", action, printable(object.Key)))
		}
		if keys == connectors.MaxPageItems {
			page.Done = false
			break
		}
		keys++
		ordered = ordered && object.Key > page.Next
		page.Next = object.Key
		if item, ok := s.newItem(object); ok {
			page.Items = append(page.Items, item)
		}
	}
	// The library ends a listing without an error when the context ends.
	if err := ctx.Err(); err != nil {
		return connectors.Page{}, fmt.Errorf("%s: %w", action, err)
	}
	// A cursor relies on the protocol's order of keys. In another order, keys would
	// be skipped and their documents deleted. A single page needs no order.
	if !ordered && (cursor != "" || !page.Done) {
		return connectors.Page{}, connectors.Fatal(fmt.Errorf("%s: the service does not list keys in the order of their bytes, "+
			"so that only up to %d objects can be synced from it; a longer config.%s narrows them down",
			action, connectors.MaxPageItems, optionPrefix))
	}
	return page, nil
}

// newItem reports false for the empty objects with which some tools mark
// folders.
func (s *source) newItem(object minio.ObjectInfo) (connectors.Item, bool) {
	path := strings.Trim(strings.TrimPrefix(object.Key, s.folder), "/")
	if path == "" || (strings.HasSuffix(object.Key, "/") && object.Size == 0) || !s.isValidKey(object.Key) {
		return connectors.Item{}, false
	}
	return connectors.Item{
		ID:         object.Key,
		Path:       path,
		Version:    objectVersion(object),
		URL:        s.baseURL + s3utils.EncodePath(object.Key),
		Size:       object.Size,
		ModifiedAt: object.LastModified.UTC(),
	}, true
}

func objectVersion(object minio.ObjectInfo) string { return strings.Trim(object.ETag, `"`) }

// Open implements [connectors.Source]. If access to one object is denied while
// the bucket may be listed, only that item fails.
func (s *source) Open(ctx context.Context, item connectors.Item) (io.ReadCloser, error) {
	content, err := s.openObject(ctx, item)
	if _, denied := errors.AsType[*deniedError](err); denied {
		return nil, errors.New(err.Error()) // not marked NeedsAuth
	}
	return content, err
}

func (s *source) openObject(ctx context.Context, item connectors.Item) (io.ReadCloser, error) {
	action := fmt.Sprintf("read the object %q", printable(item.ID))
	if err := s.checkOpen(ctx, action); err != nil {
		return nil, err
	}
	if !s.isValidKey(item.ID) {
		return nil, fmt.Errorf("%s: %w", action, connectors.ErrNotFound)
	}
	var options minio.GetObjectOptions
	if item.Version != "" {
		if err := options.SetMatchETag(item.Version); err != nil {
			return nil, fmt.Errorf("%s: %w", action, err)
		}
	}
	c := &call{}
	body, object, header, err := s.core.GetObject(withCall(ctx, c), s.bucket, item.ID, options)
	if err != nil {
		return nil, s.markError(ctx, c, action, err)
	}
	// Some services ignore the condition.
	if version := objectVersion(object); item.Version != "" && version != "" && version != item.Version {
		changed := connectors.Retryable(fmt.Errorf("%s: %w", action, errChanged), 0)
		return nil, errors.Join(changed, body.Close())
	}
	// An item without a version was not listed.
	hasSize := item.Version != "" && item.Size > 0
	if hasSize && object.Size >= 0 && object.Size != item.Size {
		unexpected := s.markError(ctx, c, action, &unexpectedResponseError{fmt.Sprintf("%d bytes in place of the object's %d", object.Size, item.Size)})
		return nil, errors.Join(unexpected, body.Close())
	}
	explained := &objectBody{
		body: body, markError: func(err error) error { return s.markError(ctx, c, action, err) },
		hasSize: hasSize, remaining: item.Size,
	}
	return decompress(explained, header.Get("Content-Encoding"))
}

// Check implements [connectors.Source]. It lists the first page and reads the
// start of its first object, which needs all rights of a sync. If access to
// that object is denied, it tries a few others.
func (s *source) Check(ctx context.Context) error {
	page, err := s.Walk(ctx, "")
	if err != nil {
		return err
	}
	for _, item := range page.Items[:min(maxCheckedObjects, len(page.Items))] {
		var content io.ReadCloser
		content, err = s.openObject(ctx, item)
		if err == nil {
			_, err = io.Copy(io.Discard, io.LimitReader(content, maxCheckedBytes))
			err = errors.Join(err, content.Close())
		}
		if err == nil {
			return nil
		}
		if !connectors.IsNeedsAuth(err) {
			break
		}
	}
	_, retryable := connectors.RetryAfterOf(err)
	if connectors.IsNeedsAuth(err) || connectors.IsFatal(err) || ctx.Err() != nil || retryable && !errors.Is(err, errChanged) {
		return err
	}
	return nil // a deleted, changed or archived object says nothing about the connection
}

// Close implements [connectors.Source].
func (s *source) Close() error {
	s.closed.Store(true)
	s.transport.base.CloseIdleConnections()
	return nil
}

func (s *source) checkOpen(ctx context.Context, action string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	if s.closed.Load() {
		return connectors.Fatal(fmt.Errorf("%s: %w", action, errClosed))
	}
	return nil
}

// isValidKey reports whether a key can be an item of this source. Keys that the
// library does not send or the database does not store cannot, and keys with
// segments "." or "..": some services follow them out of the prefix.
func (s *source) isValidKey(key string) bool {
	if strings.TrimSpace(key) == "" || len(key) > connectors.MaxIDBytes || !utf8.ValidString(key) ||
		strings.Contains(key, "\x00") || !strings.HasPrefix(key, s.prefix) {
		return false
	}
	for part := range strings.SplitSeq(key, "/") {
		if part == "." || part == ".." {
			return false
		}
	}
	return true
}

func (c *call) delay() time.Duration { return time.Duration(c.retryAfter.Load()) }
