// Package s3 is the connector for buckets of Amazon S3 and of services that
// speak its protocol.
//
// It walks a bucket in the order of its keys with ListObjectsV2, the cursor
// being the last key seen, so that a walk can go on after any interruption. The
// ETag is an item's version, and content is only read on the condition that it
// still has that ETag.
//
// Allowed imports: the standard library, connectors, internal/httpx (for its
// error), minio-go and golang.org/x/sync.
package s3
