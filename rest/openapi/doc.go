// Package openapi has the types of an OpenAPI 3.1 document, as far as Magpie's
// own needs them, and makes sample values that fit their schemas. What the
// document says is package rest's business.
//
// It imports the standard library only.
package openapi
