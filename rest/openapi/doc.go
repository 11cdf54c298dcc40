// Package openapi has the types of an OpenAPI 3.1 document that Magpie's document
// uses, and creates sample values of schemas. Package rest builds the document.
//
// The types keep the order of members, so that a reader finds the fields of a schema
// as they are declared. Those of kin-openapi, which tests validate the document with,
// sort members by name, and encoding with them takes more time and memory at startup.
//
// It imports the standard library only.
package openapi
