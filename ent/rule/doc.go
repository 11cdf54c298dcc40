// Package rule holds the privacy policies of the entities: who may read and write
// which rows. ent evaluates them for every query and mutation. Every policy denies
// what it does not allow. The package imports no generated code, so that the schema
// can be loaded before anything has been generated.
//
// Allowed imports: internal/viewer.
package rule
