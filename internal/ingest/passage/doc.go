// Package passage splits a document into passages, the units that are embedded, indexed and shown.
//
// A passage has text of one section, so that it has one topic. Consecutive tiny sections share a passage, with the lines
// of their headings, but none crosses a heading of level one or two (in a document without those, one of its highest
// level). A passage contains whole blocks up to its target length. Code and table rows that fit into a passage are not split. A table that continues in the next passage
// repeats its header, code its fence. Longer paragraphs are split between lines, then sentences, then words, then
// grapheme clusters.
//
// The package may import internal/ingest/parse and the text segmentation library.
package passage
