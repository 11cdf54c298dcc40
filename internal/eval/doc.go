// Package eval measures search quality on judged sets: folders of documents, questions
// and judgements in the format of the BEIR benchmark (Thakur et al., 2021). It indexes a
// set in memory with the code of the service, so that it needs no database.
//
// The package may import internal/chat/quote, internal/analysis, internal/config/namedfile, internal/model/embed,
// internal/index, internal/ingest, internal/safetext and internal/search.
package eval
