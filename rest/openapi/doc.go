// Package openapi has the types of an OpenAPI 3.1 document that Magpie's document
// uses, and creates sample values of schemas. Package rest builds the document.
//
// It imports the standard library only.
package openapi
