package search

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/search/quickselect"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// A Field of documents that facets count by.
type Field string

// The fields. The values of FieldCollection and FieldConnector are ids.
const (
	FieldSection    Field = "section"
	FieldVersion    Field = "version"
	FieldTags       Field = "tags"
	FieldDocType    Field = "doc_type"
	FieldLanguage   Field = "language"
	FieldCollection Field = "collection"
	FieldSource     Field = "source"
	FieldConnector  Field = "connector"
	FieldDate       Field = "date"
)

// A FacetQuery asks for counts of documents.
type FacetQuery struct {
	// Fields are counted in this order, each once.
	Fields []Field
	// Values is the number of values listed for each field, 1 to MaxFacetValues.
	Values int
	// Ranges are counted for FieldDate, at most MaxFacetRanges; none counts DefaultRanges.
	Ranges []Range
}

// A Range is a span of time, From inclusive, Until exclusive. The zero time is no bound; at
// most one of the two may be zero.
type Range struct {
	Name        string
	From, Until time.Time
}

// Valid reports whether the range has a bound and does not end before it begins.
func (r Range) Valid() bool {
	return (!r.From.IsZero() || !r.Until.IsZero()) && (r.Until.IsZero() || r.From.Before(r.Until))
}

// A Facet is the distribution of documents over the values of a field. It counts the
// documents that the filters on other fields select, and with a query those of its results.
// A selection in the field itself is ignored, so that it never hides other values.
type Facet struct {
	Field     Field
	Documents int // all that were counted
	Missing   int // without a value
	Distinct  int // values
	// Other is the sum of the counts of the values that are not listed.
	Other int
	// Values are ordered by falling count, then by value. Selected values with documents
	// follow if they are not among them. Ranges are all listed in the order of the query.
	Values []FacetValue
}

// A FacetValue is a value with the number of its documents.
type FacetValue struct {
	Value    string
	Count    int
	Selected bool // by the filters
	Range    Range
}

// DefaultRanges returns the last day, week, 30, 90 and 365 days, which have no end, and
// everything older. Each range includes the ones before.
func DefaultRanges(now time.Time) []Range {
	now = now.UTC().Truncate(time.Microsecond)
	const day = 24 * time.Hour
	year := now.Add(-365 * day)
	return []Range{
		{Name: "last_24h", From: now.Add(-day)},
		{Name: "last_7d", From: now.Add(-7 * day)},
		{Name: "last_30d", From: now.Add(-30 * day)},
		{Name: "last_90d", From: now.Add(-90 * day)},
		{Name: "last_year", From: year},
		{Name: "older", Until: year},
	}
}

func (f *FacetQuery) validate() error {
	if f == nil {
		return nil
	}
	if f.Values < 1 || f.Values > MaxFacetValues {
		return apierr.Invalid("first", fmt.Sprintf("must be between 1 and %d", MaxFacetValues))
	}
	if len(f.Ranges) > MaxFacetRanges {
		return apierr.Invalid("ranges", fmt.Sprintf("must have at most %d ranges", MaxFacetRanges))
	}
	for i, r := range f.Ranges {
		if !r.Valid() {
			return apierr.Invalid(fmt.Sprintf("ranges[%d]", i), "must have a beginning before its end, or one of the two")
		}
	}
	for i, field := range f.Fields {
		if _, ok := facetOf(field); !ok && field != FieldCollection && field != FieldDate || slices.Contains(f.Fields[:i], field) {
			return apierr.Invalid("fields", fmt.Sprintf("%q is no field of documents, or there twice", field))
		}
	}
	return nil
}

// facetOf returns the facet of a field that the tiers count by value.
func facetOf(field Field) (rank.Facet, bool) {
	switch field {
	case FieldSection:
		return rank.FacetSection, true
	case FieldVersion:
		return rank.FacetVersion, true
	case FieldLanguage:
		return rank.FacetLanguage, true
	case FieldDocType:
		return rank.FacetDocType, true
	case FieldSource:
		return rank.FacetSource, true
	case FieldConnector:
		return rank.FacetConnector, true
	case FieldTags:
		return rank.FacetTag, true
	default:
		return 0, false
	}
}

// selection returns the values that the filters select in a field.
func (f *Filters) selection(field Field) []string {
	switch facet, ok := facetOf(field); {
	case ok:
		return f.filter().Values[facet]
	case field == FieldCollection:
		return idStrings(f.Collections)
	}
	return nil
}

// selects reports whether the filters select values of a field.
func (f *Filters) selects(field Field) bool {
	if field == FieldDate {
		return !f.After.IsZero() || !f.Before.IsZero() || !f.From.IsZero() || !f.Until.IsZero()
	}
	return len(f.selection(field)) > 0
}

// without returns the filter of all fields but one.
func (f *Filters) without(field Field) *rank.Filter {
	others := *f
	if field == FieldDate {
		others.After, others.Before, others.From, others.Until = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	}
	out := others.filter()
	if facet, ok := facetOf(field); ok {
		out.Values[facet] = nil
	}
	return out
}

func idStrings(ids []uuid.UUID) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = id.String()
	}
	return out
}

// A facetPass counts documents under one filter, for one or more fields.
type facetPass struct {
	fields    []Field
	filter    *rank.Filter   // nil to count the search's own results
	question  *rank.Question // to rank under the filter; nil to count all documents
	unbounded bool           // count collections that the filters exclude, too
	request   rank.FacetRequest

	sum         *rank.FacetCounts
	collections map[string]int // documents by collection
}

// passes returns the passes that count the query's facets: one for all fields without a
// selection, and one for each other field. question is nil if all documents are counted.
func (q *Query) passes(a *analysis.Analyzer, question *rank.Question) []*facetPass {
	if q.Facets == nil || len(q.Facets.Fields) == 0 {
		return nil
	}
	main := &facetPass{}
	all := []*facetPass{main}
	for _, field := range q.Facets.Fields {
		if !q.Filters.selects(field) {
			main.fields = append(main.fields, field)
			continue
		}
		p := &facetPass{fields: []Field{field}, filter: q.Filters.without(field), unbounded: field == FieldCollection}
		if question != nil {
			p.question = question
			if field == FieldLanguage { // the selected language must not decide how words are analyzed
				p.question = question.In(a, "")
			}
			p.question.Restrict(p.filter)
		}
		all = append(all, p)
	}
	if len(main.fields) == 0 {
		all = all[1:]
	}
	for _, p := range all {
		for _, field := range p.fields {
			if facet, ok := facetOf(field); ok {
				p.request.Facets = append(p.request.Facets, facet)
			}
			if field == FieldDate {
				for _, r := range q.Facets.Ranges {
					p.request.Ranges = append(p.request.Ranges, rank.Range{From: ceilMicros(r.From), Until: ceilMicros(r.Until)})
				}
			}
		}
		p.sum, p.collections = rank.NewFacetCounts(&p.request), make(map[string]int)
	}
	return all
}

// anyUnbounded reports whether a pass counts collections that the filters exclude.
func anyUnbounded(passes []*facetPass) bool {
	return slices.ContainsFunc(passes, func(p *facetPass) bool { return p.unbounded })
}

// add adds the counts of one collection.
func (p *facetPass) add(collection uuid.UUID, counts *rank.FacetCounts) {
	p.sum.Add(counts)
	if counts.Documents > 0 {
		p.collections[collection.String()] += counts.Documents
	}
}

// facets returns the facets of the passes, in the order of the query.
func (q *Query) facets(passes []*facetPass) []Facet {
	out := make([]Facet, 0, len(q.Facets.Fields))
	for _, field := range q.Facets.Fields {
		i := slices.IndexFunc(passes, func(p *facetPass) bool { return slices.Contains(p.fields, field) })
		p := passes[i]
		f := Facet{Field: field, Documents: p.sum.Documents}
		switch facet, ok := facetOf(field); {
		case ok:
			f.setValues(p.sum.Values[facet], q.Filters.selection(field), q.Facets.Values)
		case field == FieldCollection:
			f.setValues(p.collections, q.Filters.selection(field), q.Facets.Values)
		default:
			f.setRanges(q, p.sum)
		}
		out = append(out, f)
	}
	return out
}

// setValues sets the values with the highest counts, at most limit, and the selected ones.
func (f *Facet) setValues(counts map[string]int, selected []string, limit int) {
	all := make([]FacetValue, 0, len(counts))
	for value, n := range counts {
		if value == "" {
			f.Missing = n
			continue
		}
		all = append(all, FacetValue{Value: value, Count: n, Selected: slices.Contains(selected, value)})
		f.Other += n
	}
	f.Distinct = len(all)
	compare := func(a, b FacetValue) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value)) }
	f.Values = all
	if len(all) > limit {
		f.Values = slices.Clone(quickselect.First(all, limit, compare))
		for _, v := range all[limit:] {
			if v.Selected {
				f.Values = append(f.Values, v)
			}
		}
	}
	slices.SortFunc(f.Values[:min(limit, len(f.Values))], compare)
	slices.SortFunc(f.Values[min(limit, len(f.Values)):], compare)
	for _, v := range f.Values {
		f.Other -= v.Count
	}
}

// setRanges sets the ranges of a date facet.
func (f *Facet) setRanges(q *Query, sum *rank.FacetCounts) {
	f.Missing = sum.Undated
	for i, r := range q.Facets.Ranges {
		selected := q.Filters.selects(FieldDate) && q.Filters.After.IsZero() && q.Filters.Before.IsZero() &&
			r.From.Equal(q.Filters.From) && r.Until.Equal(q.Filters.Until)
		f.Values = append(f.Values, FacetValue{Value: r.Name, Count: sum.Ranges[i], Selected: selected, Range: r})
		if sum.Ranges[i] > 0 {
			f.Distinct++
		}
	}
}
