// Package s3 is the connector for buckets of Amazon S3 and of compatible
// services.
//
// It walks a bucket in the order of its keys with ListObjectsV2. The cursor is
// the last key, so that a walk can be continued at any time. The ETag is the
// version of an item, and content is only read on the condition that it still
// has that ETag.
//
// Allowed imports: the standard library, connectors, connectors/restapi,
// internal/httpx, internal/safetext and minio-go.
package s3
