// Package analysis turns text into the terms that the index stores and that queries look up, and marks those terms in
// source text. One analyzer serves indexing, querying and highlighting, so that the three can never disagree.
//
// # Terms
//
// A word is a maximal run of letters, digits and marks. Its term is the word in lower case, with width and compatibility
// forms unified (NFKC), stemmed, and with the diacritics of Latin, Greek and Cyrillic letters and the optional marks of
// Arabic and Hebrew removed. Digits are those of ASCII, and invisible characters are left out. Words are held together by .
// - _ / : @ when these stand between two words; such a compound is kept whole and in parts. kv.rangefeed.enabled gives
// itself, kv, rangefeed and enabled; rangeFeed_enabled gives itself, rangeFeed, range, feed and enabled; /etc/app.conf
// gives etc/app.conf, etc, app.conf, app and conf; v1.2.3 gives itself, 1.2.3, 1, 2 and 3. A whole takes the position of
// its first part, parts take positions of their own, but for the parts of a word in camel case, which share its position.
// C++ and C# are terms. Chinese and Korean text gives overlapping pairs of characters, or the
// character itself where it stands alone. Japanese text is cut where the script changes; a run of katakana is one term, others
// give pairs. Thai, Lao, Khmer and Burmese text gives the words of a dictionary (package segment).
//
// # Languages
//
// Words are stemmed by the language of the document: Snowball for English, French, Spanish, Russian, Swedish, Norwegian,
// Hungarian, German, Italian, Portuguese and Dutch, and the light stemmers of package stem for the languages that it has. Words
// of any other language keep their form. Terms of Vietnamese keep their diacritics, which are tones. A word that is not written
// in the script of the document's language (an English product name in a Japanese page), and every word of a document of
// unknown language, is stemmed as English when it is Latin and as Russian when it is Cyrillic.
//
// A document's word is therefore stored under exactly one term, and the index pays nothing for languages. Queries pay
// instead, since they are short: a query's word stands for all its possible terms in the languages of the documents (its
// stem in each, in all languages of its script and its plain form where they are not known), most of which coincide. Stop
// words are indexed like other words, because a query may consist of nothing else; they are left out of a query as long as
// something remains. Package stopword lists them by language.
//
// The package may import its own packages, the standard library, golang.org/x/text, the stemmers and the grapheme splitter.
package analysis
