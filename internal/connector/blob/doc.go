// Package blob keeps the content of uploaded files, in a folder ([Dir]) or in
// a bucket ([S3]). The suite both pass is blob/blobtest.
//
// Allowed imports: the standard library and minio-go.
package blob
