package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// AppendObjects appends the objects of a document as it is at a change number. They share
// no memory with the entry.
func AppendObjects(objects []Object, e *index.Entry, change int64) ([]Object, error) {
	if !e.Live {
		return objects, nil
	}
	document := Object{
		Document: e.Document, Change: change, Time: e.Time,
		Readers: slices.Clone(e.Readers), Restriction: slices.Clone(e.Restriction),
	}
	for facet, value := range map[rank.Facet]string{
		rank.FacetSection: e.Section, rank.FacetVersion: e.Version, rank.FacetLanguage: e.Language,
		rank.FacetDocType: e.DocType, rank.FacetSource: e.Source, rank.FacetConnector: e.Connector,
	} {
		if value != "" {
			document.Values[facet] = []string{strings.Clone(value)}
		}
	}
	for _, tag := range e.Tags {
		document.Values[rank.FacetTag] = append(document.Values[rank.FacetTag], strings.Clone(tag))
	}
	for i := range e.Passages {
		p := &e.Passages[i]
		o := document
		o.Passage, o.Vector = p.ID, slices.Clone(p.Vector)
		var err error
		if o.Fields, err = fieldsOf(p.Lexemes); err != nil {
			return nil, fmt.Errorf("read the terms of passage %s: %w", p.ID, err)
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// fieldsOf returns the terms of a passage by field, in the order of their positions.
func fieldsOf(lexemes index.Lexemes) (fields [index.FieldCount][]string, err error) {
	type occurrence struct {
		term     string
		position uint16
	}
	var all []occurrence
	err = lexemes.Each(func(term []byte, positions []uint16) {
		t := string(term)
		for _, p := range positions {
			all = append(all, occurrence{t, p})
		}
	})
	if err != nil {
		return fields, err
	}
	slices.SortFunc(all, func(a, b occurrence) int {
		return cmp.Or(cmp.Compare(a.position, b.position), strings.Compare(a.term, b.term))
	})
	for _, o := range all {
		f := index.FieldOf(o.position)
		fields[f] = append(fields[f], o.term)
	}
	return fields, nil
}
