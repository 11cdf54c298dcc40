// Package eval measures search quality on judged sets: folders of documents,
// questions and judgements, as the BEIR benchmark (Thakur et al., 2021) keeps
// them. It builds the index of the resident tier in memory, by the code that
// the service runs, so that it needs no database.
package eval
