// Package parsetest helps the tests of formats: it reads a file as the whole parser does, checks any document for what must hold
// for all, and runs fuzz targets and benchmarks over a format.
//
// The package may import internal/ingest/document and internal/ingest/parse. Tests alone import it.
package parsetest
