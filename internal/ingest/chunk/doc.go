// Package chunk cuts a parsed document into passages, the units that are embedded, indexed and shown.
//
// A passage never reaches over a heading of level one or two (in a document without those, over one of its highest level),
// so that it is about one thing. Within that it takes in whole blocks until it is long enough, small sections together
// with the line of their heading. Table rows and code that fit into a passage are never cut; a table that goes on in the
// next passage repeats its header, code its fence. Longer paragraphs are cut between lines, then sentences, then words,
// then runes (never inside a character of several runes unless that alone is longer than a passage).
//
// The package may import internal/ingest/parse and the text segmentation library.
package chunk
