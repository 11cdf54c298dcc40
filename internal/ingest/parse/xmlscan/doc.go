// Package xmlscan scans XML as a stream of elements and text. It is several times as fast as encoding/xml and reads
// what office formats need: UTF-8 and UTF-16, namespaces as prefixes, no validation. Document type definitions are
// skipped, so no entities are expanded and nothing is fetched.
//
// The package may import the standard library and golang.org/x/text.
package xmlscan
