// Package xmlscan reads XML as a stream of elements and text, at several times the speed of encoding/xml and without
// building anything. It is what office formats need: UTF-8 or UTF-16, namespaces told apart by their prefixes, no
// validation. A document type definition is passed over; entities it declares are not expanded, and nothing is fetched.
//
// The package may import the standard library and golang.org/x/text.
package xmlscan
