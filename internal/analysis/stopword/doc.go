// Package stopword lists the words of each language that say little about what a
// query asks for: articles, pronouns, prepositions and postpositions, conjunctions,
// auxiliaries, question words and particles. No list has nouns, full verbs or
// adjectives but for a few that serve as particles.
//
// Words are spelled with their diacritics, lower case, in Unicode's form NFC. The
// analyzer compares words without diacritics where it folds them, and so folds the
// lists in the same way when it loads them.
//
// The package imports the standard library alone.
package stopword
