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

	checkedObjects = 3
	checkedBytes   = 64 << 10
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
	// folder is the part of the prefix up to its last slash; paths leave it out.
	folder    string
	address   string // of an object, up to its key
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
	s.address = addressOf(endpoint, s.bucket, region)
	core, err := minio.NewCore(endpoint.Host, &minio.Options{
		Creds:        credentials.NewStaticV4(settings.Credentials[credentialID], settings.Credentials[credentialSecret], ""),
		Secure:       endpoint.Scheme == "https",
		Transport:    s.transport,
		Region:       region,
		BucketLookup: minio.BucketLookupAuto, // by path, except for services known to want names
		MaxRetries:   1,                      // whoever calls the source decides about repeating
	})
	if err != nil {
		return nil, connectors.Fatal(fmt.Errorf("open an s3 source: %s", clean(err.Error())))
	}
	s.core = *core
	return s, nil
}

// addressOf is what the web address of every object begins with.
func addressOf(endpoint *url.URL, bucket, region string) string {
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
	doing := fmt.Sprintf("list the bucket %q", s.bucket)
	if err := s.ready(ctx, doing); err != nil {
		return connectors.Page{}, err
	}
	if len(cursor) > connectors.MaxIDBytes || !utf8.ValidString(cursor) {
		return connectors.Page{}, connectors.Fatal(fmt.Errorf("%s: the cursor is not one of this connector", doing))
	}
	e := &exchange{bodyBytes: listingBytes, requests: listingRequests}
	// One key more than a page holds tells whether another page follows.
	objects := s.core.ListObjectsIter(withExchange(ctx, e), s.bucket, minio.ListObjectsOptions{
		Prefix: s.prefix, Recursive: true, StartAfter: cursor, MaxKeys: connectors.MaxPageItems + 1, FetchOwner: new(bool),
	})
	page := connectors.Page{Next: cursor, Done: true}
	seen, ordered := 0, true
	for object := range objects {
		if object.Err != nil {
			return connectors.Page{}, s.explain(ctx, e, doing, object.Err)
		}
		if !strings.HasPrefix(object.Key, s.prefix) {
			return connectors.Page{}, connectors.Fatal(fmt.Errorf("%s: the service ignores prefixes: it listed %q", doing, clean(object.Key)))
		}
		if seen == connectors.MaxPageItems {
			page.Done = false
			break
		}
		seen++
		ordered = ordered && object.Key > page.Next
		page.Next = object.Key
		if item, ok := s.itemOf(object); ok {
			page.Items = append(page.Items, item)
		}
	}
	// The library ends a listing silently when its context does.
	if err := ctx.Err(); err != nil {
		return connectors.Page{}, fmt.Errorf("%s: %w", doing, err)
	}
	// Going on after a key needs the order that the protocol promises. Services
	// that list in another one would skip keys, and their documents would be
	// taken for deleted; only where nothing has to go on does it not matter.
	if !ordered && (cursor != "" || !page.Done) {
		return connectors.Page{}, connectors.Fatal(fmt.Errorf("%s: the service does not list keys in the order of their bytes, "+
			"so that only up to %d objects can be synced from it; a longer config.%s narrows them down",
			doing, connectors.MaxPageItems, optionPrefix))
	}
	return page, nil
}

// itemOf leaves out what marks a folder, as some tools write for each of them.
func (s *source) itemOf(object minio.ObjectInfo) (connectors.Item, bool) {
	path := strings.Trim(strings.TrimPrefix(object.Key, s.folder), "/")
	if path == "" || (strings.HasSuffix(object.Key, "/") && object.Size == 0) || !s.holds(object.Key) {
		return connectors.Item{}, false
	}
	return connectors.Item{
		ID:         object.Key,
		Path:       path,
		Version:    versionOf(object),
		URL:        s.address + s3utils.EncodePath(object.Key),
		Size:       object.Size,
		ModifiedAt: object.LastModified.UTC(),
	}, true
}

func versionOf(object minio.ObjectInfo) string { return strings.Trim(object.ETag, `"`) }

// Open implements [connectors.Source]. An object that alone may not be read,
// while the bucket may be listed, is that item's failure and nobody else's.
func (s *source) Open(ctx context.Context, item connectors.Item) (io.ReadCloser, error) {
	content, err := s.read(ctx, item)
	if _, denied := errors.AsType[*deniedError](err); denied {
		return nil, errors.New(err.Error()) // without asking for new credentials
	}
	return content, err
}

func (s *source) read(ctx context.Context, item connectors.Item) (io.ReadCloser, error) {
	doing := fmt.Sprintf("read the object %q", clean(item.ID))
	if err := s.ready(ctx, doing); err != nil {
		return nil, err
	}
	if !s.holds(item.ID) {
		return nil, fmt.Errorf("%s: %w", doing, connectors.ErrNotFound)
	}
	var options minio.GetObjectOptions
	if item.Version != "" {
		if err := options.SetMatchETag(item.Version); err != nil {
			return nil, fmt.Errorf("%s: %w", doing, err)
		}
	}
	e := &exchange{}
	body, object, header, err := s.core.GetObject(withExchange(ctx, e), s.bucket, item.ID, options)
	if err != nil {
		return nil, s.explain(ctx, e, doing, err)
	}
	// Not every service heeds the condition.
	if version := versionOf(object); item.Version != "" && version != "" && version != item.Version {
		changed := connectors.Retryable(fmt.Errorf("%s: %w", doing, errChanged), 0)
		return nil, errors.Join(changed, body.Close())
	}
	// Without a version, whoever asks names no listed object.
	sized := item.Version != "" && item.Size > 0
	if sized && object.Size >= 0 && object.Size != item.Size {
		lie := s.explain(ctx, e, doing, &mismatchError{fmt.Sprintf("%d bytes in place of the object's %d", object.Size, item.Size)})
		return nil, errors.Join(lie, body.Close())
	}
	explained := &explainedBody{
		body: body, explain: func(err error) error { return s.explain(ctx, e, doing, err) },
		sized: sized, left: item.Size,
	}
	return unpacked(explained, header.Get("Content-Encoding"))
}

// Check implements [connectors.Source]: it lists the first page and begins to
// read its first object, which needs every right that a sync does. Where that
// one is denied, a few others get to show that it is the only one.
func (s *source) Check(ctx context.Context) error {
	page, err := s.Walk(ctx, "")
	if err != nil {
		return err
	}
	for _, item := range page.Items[:min(checkedObjects, len(page.Items))] {
		var content io.ReadCloser
		content, err = s.read(ctx, item)
		if err == nil {
			_, err = io.Copy(io.Discard, io.LimitReader(content, checkedBytes))
			err = errors.Join(err, content.Close())
		}
		if err == nil {
			return nil
		}
		if !connectors.IsNeedsAuth(err) {
			break
		}
	}
	_, again := connectors.RetryAfterOf(err)
	if connectors.IsNeedsAuth(err) || connectors.IsFatal(err) || ctx.Err() != nil || again && !errors.Is(err, errChanged) {
		return err
	}
	return nil // an object that is gone, new or archived says nothing of the connection
}

// Close implements [connectors.Source].
func (s *source) Close() error {
	s.closed.Store(true)
	s.transport.base.CloseIdleConnections()
	return nil
}

func (s *source) ready(ctx context.Context, doing string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if s.closed.Load() {
		return connectors.Fatal(fmt.Errorf("%s: %w", doing, errClosed))
	}
	return nil
}

// holds says whether a key can be an item of this source. Keys that the
// library does not send or a database does not store cannot, nor those with
// parts "." and "..": some services follow them like folders, out of the prefix.
func (s *source) holds(key string) bool {
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

func (e *exchange) waitFor() time.Duration { return time.Duration(e.retryAfter.Load()) }
