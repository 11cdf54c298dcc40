// Package rule holds the privacy policies of the entities: who may read and
// write which rows, decided at the data layer for every path that leads there.
// Every policy ends in deny. It imports no generated code, so that the schema
// can be loaded before anything has been generated, and of Magpie only
// internal/viewer.
package rule
