// Package resident is the tier that keeps the search indexes of collections in
// memory. An Index holds one collection, a Snapshot its state at one moment, and a
// View what one search sees of a snapshot (a rank.Source). A Cache holds the indexes
// of the most recently searched collections within a budget of bytes.
//
// # Structure
//
// A snapshot is a list of immutable segments and bitmaps of the live documents and
// passages in them. A reader loads it with one atomic read. Each change becomes a
// small segment. Segments are merged when there are more than eight, and a segment
// is rewritten when more than a quarter of it is dead. A segment has
//
//   - a dictionary, whose term numbers rise as document frequency falls, so that
//     completion looks for the smallest numbers;
//   - postings in blocks of 128, each posting the distance to the passage before and
//     one byte of occurrences (rank.Counts); blocks without a selected passage are
//     skipped;
//   - the forward index: each passage's terms ordered by position, two bytes a term,
//     for matches, phrases and feedback. The terms of a title are stored once a document;
//   - vectors as int8 components with a scale, and as one bit a dimension after the
//     collection's mean is subtracted and the rest is rotated (quantizer). The bits
//     select the vectors that are compared by their components;
//   - columns of the documents' attributes, which filters scan.
//
// Lexical scores are sums of rank.Saturation in the order of the words and in double
// precision, so that they equal those of rank to the last bit. The best passages are
// exact; equal scores are ordered by id. Where most passages are selected all are scored, a
// window of them at a time, and in a large collection words and vectors are compared side
// by side: one client's search of 1,000,000 passages took 11.2 ms over HTTP before, and 8.7
// with both (medians, two cores).
//
// # Measured
//
// On the shared corpora (18,633 passages; 100,000 by repetition, with vectors of 384
// components), loading 100,000 passages takes 1.5 s of one core. The table gives the
// share of the exact nearest 10 and 100 passages among 1000 results, by the number of
// vectors that are compared by their components (BenchmarkRecall). The default is
// four for each result.
//
//	compared  recall@10  recall@100
//	1000      0.994      0.973
//	2000      0.995      0.988
//	3000      0.995      0.991
//	4000      0.995      0.992
//
// The package may import internal/index, internal/search/quickselect, internal/search/rank,
// internal/viewer, google/uuid, golang.org/x/sys/cpu and the standard library.
package resident
