// Package rank decides the order of results: which words of a question count
// how much, what speaks for a passage, and how sure that makes us. It knows
// passages only through Source, which both tiers implement, so that the two
// rank alike.
//
// The package may import internal/index, internal/analysis,
// internal/search/quickselect and the standard library.
package rank
