// Package blobtest is the suite that every implementation of blob.Store passes.
//
// Allowed imports: the standard library and internal/connector/blob.
package blobtest
