package index

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/analysis"
)

// Preview returns the entry that searches would see of a record if it were
// stored, without a database. The passages get new ids; the vectors are the record's own.
func Preview(a *analysis.Analyzer, r *Record) (*Entry, error) {
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("preview a document: %w", err)
	}
	p, err := (&Store{analyzer: a}).prepare(r)
	if err != nil {
		return nil, fmt.Errorf("preview a document: %w", err)
	}
	e := &Entry{
		Document: r.Document, Live: true, Section: cut(r.Section, maxSection), Version: cut(r.Version, maxVersion),
		Language: cut(r.Language, maxLanguage), DocType: cut(r.DocType, maxDocType), Tags: r.Tags, Time: r.UpdatedAt,
		Passages: make([]EntryPassage, len(r.Passages)),
	}
	if e.Time.IsZero() {
		e.Time = r.CreatedAt
	}
	types := pgtype.NewMap()
	for i := range e.Passages {
		lexemes, err := types.Encode(pgtype.TSVectorOID, pgtype.BinaryFormatCode, p.terms[i].vector, nil)
		if err != nil {
			return nil, fmt.Errorf("preview a document: %w", err)
		}
		e.Passages[i] = EntryPassage{
			ID: gid.New(gid.Passage), Ordinal: int32(i), Words: p.terms[i].words,
			Lexemes: lexemes, Vector: r.Vectors[i],
		}
	}
	return e, nil
}
