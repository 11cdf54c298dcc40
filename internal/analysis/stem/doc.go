// Package stem reduces the inflected forms of a word to a stem. It has one stemmer
// for each of the languages that the analyzer does not stem itself.
//
// A stem is a key of an index and need not be a word. The stemmers are light: by
// tables, they cut the endings of inflection and of the commonest derivations, and
// in some languages prefixes. They have no vocabulary, so that unrelated words may
// share a stem. Each names the published method that it follows.
//
// In Bosnian, Catalan, Croatian, Czech, Finnish, Greek, Polish, Romanian, Serbian,
// Slovak and Turkish the stem of a word is the same if its diacritics are left out.
//
// The package imports the standard library and golang.org/x/text alone.
package stem
