// Package blobtest tests implementations of blob.Store.
//
// Allowed imports: the standard library and internal/connector/blob.
package blobtest
