// Package rank orders the passages of a search and scores them: it weights the
// words of a query, gathers evidence for each candidate, and turns the evidence
// into a confidence from 0 to 1. It reads passages only through the Source
// interface, which both tiers implement, so both tiers rank alike.
//
// The package may import internal/index, internal/analysis,
// internal/search/quickselect, internal/search/spelling and the standard library.
package rank
