// Package blob stores the content of uploaded files, in a folder ([Dir]) or in a
// bucket ([S3]). Package blobtest tests both.
//
// Allowed imports: internal/tracing, minio-go.
package blob
