// Package resident keeps the search indexes of collections in memory: the fast
// tier. An Index is one collection, a Snapshot its state at one moment, a View
// what one search sees of it (a rank.Source), and a Cache has the indexes of the
// collections that were searched last, as many as a budget of bytes allows.
//
// # Structure
//
// A snapshot is a list of immutable segments and the bitmaps of what is live in
// them; readers take it with one atomic load. A change becomes a small segment
// of its own; it is merged with others when there are more than eight, and a
// segment is rewritten when more than a quarter of it is dead. A segment has
//
//   - a dictionary, whose term numbers fall with frequency, so that completion
//     is a scan for the smallest numbers;
//   - postings in blocks of 128, of which those without a selected passage are
//     skipped: the distance to the passage before, and one byte of occurrences,
//     which is all of rank.Counts;
//   - each passage's terms in the order of their positions, two bytes a term,
//     for hits, phrases and feedback. A title is kept once a document;
//   - vectors as bytes with a factor, and as the signs of their components
//     after mean and direction of the collection have been taken out (coder).
//     Signs choose which vectors are compared by their bytes;
//   - documents' attributes by column, which a filter reads from end to end.
//
// Lexical scores are the sums of rank.Damped, in the order of the words and in
// double precision: they are those of rank, to the last bit, and the best are
// exactly the best, ties going to the smaller id.
//
// # Measured
//
// On the shared corpora (18,633 passages; 100,000 by repetition with vectors of
// 384 components): 1.5 s of one core to load 100,000 passages. Of the exactly
// nearest 10 and 100 passages, among 1000 asked for, these shares are found, by
// how many vectors are compared by their bytes (BenchmarkRecall): 0.994 and 0.973
// of 1000, 0.995 and 0.988 of 2000, 0.995 and 0.991 of 3000, 0.995 and 0.992 of
// 4000. Four for each passage asked for is the default.
//
// The package may import internal/index, internal/search/quickselect, internal/search/rank,
// internal/viewer, google/uuid, golang.org/x/sys/cpu and the standard library.
package resident
