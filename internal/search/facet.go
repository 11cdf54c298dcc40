package search

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/search/quickselect"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// Field is what documents are counted by.
type Field string

// The fields. Values of FieldCollection and FieldConnector are ids.
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

// The bounds of a FacetQuery.
const (
	MaxFacetValues = 100
	MaxFacetRanges = 20
)

// FacetQuery says what documents are counted by.
type FacetQuery struct {
	// Fields are counted in this order, each once.
	Fields []Field
	// Values is how many of a field are listed, 1 to MaxFacetValues.
	Values int
	// Ranges are those of FieldDate, at most MaxFacetRanges; with none the
	// usual ones are counted, see [UsualRanges].
	Ranges []Range
}

// Range is a span of time, From inclusive, Until exclusive; the zero time is no
// bound, and one of the two is needed.
type Range struct {
	Name        string
	From, Until time.Time
}

// Facet is how documents spread over the values of one field: those that the
// filters leave, the selection in this very field aside, and with a query those
// of its results. A selection so never hides what else could be selected.
type Facet struct {
	Field     Field
	Documents int // that were counted
	Missing   int // of them without a value
	Distinct  int // values that some have
	// Other adds up the counts of the values that are not listed.
	Other int
	// Values are those with the most documents, then by value; selected ones
	// with any document are listed behind them where they are not among them.
	// Ranges are all listed, in the order of the query.
	Values []FacetValue
}

// FacetValue is one value with the number of its documents.
type FacetValue struct {
	Value    string
	Count    int
	Selected bool // the filters name it
	Range    Range
}

// UsualRanges are the ranges that end at no time, of a day, a week, 30 and 90
// days and 365 days before now, and what is older. A range holds the ones before.
func UsualRanges(now time.Time) []Range {
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

func (f *FacetQuery) check() error {
	if f.Values < 1 || f.Values > MaxFacetValues {
		return apierr.Invalid("first", fmt.Sprintf("must be between 1 and %d", MaxFacetValues))
	}
	if len(f.Ranges) > MaxFacetRanges {
		return apierr.Invalid("ranges", fmt.Sprintf("must have at most %d ranges", MaxFacetRanges))
	}
	for i, r := range f.Ranges {
		if r.From.IsZero() && r.Until.IsZero() || !r.Until.IsZero() && !r.From.Before(r.Until) {
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

// facetOf is a field that the tiers count by value.
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

// selection is what the filters select in a field.
func (f *Filters) selection(field Field) []string {
	switch facet, ok := facetOf(field); {
	case ok:
		return f.filter().Values[facet]
	case field == FieldCollection:
		return texts(f.Collections)
	}
	return nil
}

// selects reports whether the filters select in a field.
func (f *Filters) selects(field Field) bool {
	if field == FieldDate {
		return !f.After.IsZero() || !f.Before.IsZero() || !f.From.IsZero() || !f.Until.IsZero()
	}
	return len(f.selection(field)) > 0
}

// without is what the filters say of all other fields.
func (f *Filters) without(field Field) *rank.Filter {
	rest := *f
	if field == FieldDate {
		rest.After, rest.Before, rest.From, rest.Until = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	}
	out := rest.filter()
	if facet, ok := facetOf(field); ok {
		out.Values[facet] = nil
	}
	return out
}

func texts(ids []uuid.UUID) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = id.String()
	}
	return out
}

// pass is one way to look at documents, with the fields that are counted so.
type pass struct {
	fields  []Field
	filter  *rank.Filter // nil: that of the search itself
	wide    bool         // over collections that the filters leave out, too
	request rank.FacetRequest

	sum         *rank.FacetCounts
	collections map[string]int
}

// passes plans what is to be looked at: all fields without a selection
// together, each of the others by itself.
func (q *Query) passes(question *rank.Question) []*pass {
	if q.Facets == nil || len(q.Facets.Fields) == 0 {
		return nil
	}
	main := &pass{}
	all := []*pass{main}
	for _, field := range q.Facets.Fields {
		if !q.Filters.selects(field) {
			main.fields = append(main.fields, field)
			continue
		}
		p := &pass{fields: []Field{field}, filter: q.Filters.without(field), wide: field == FieldCollection}
		if question != nil {
			question.Restrict(p.filter)
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
					p.request.Ranges = append(p.request.Ranges, rank.Range{From: micros(r.From), Until: micros(r.Until)})
				}
			}
		}
		p.sum, p.collections = rank.NewFacetCounts(&p.request), make(map[string]int)
	}
	return all
}

// wide reports whether collections must be looked at that the filters leave out.
func wide(passes []*pass) bool {
	return slices.ContainsFunc(passes, func(p *pass) bool { return p.wide })
}

// add takes what was counted of one collection.
func (p *pass) add(collection uuid.UUID, counts *rank.FacetCounts) {
	p.sum.Add(counts)
	if counts.Documents > 0 {
		p.collections[collection.String()] += counts.Documents
	}
}

// facets are the answer, once everything has been counted.
func (q *Query) facets(passes []*pass) []Facet {
	out := make([]Facet, 0, len(q.Facets.Fields))
	for _, field := range q.Facets.Fields {
		i := slices.IndexFunc(passes, func(p *pass) bool { return slices.Contains(p.fields, field) })
		p := passes[i]
		f := Facet{Field: field, Documents: p.sum.Documents}
		switch facet, ok := facetOf(field); {
		case ok:
			f.list(p.sum.Values[facet], q.Filters.selection(field), q.Facets.Values)
		case field == FieldCollection:
			f.list(p.collections, q.Filters.selection(field), q.Facets.Values)
		default:
			q.dates(&f, p.sum)
		}
		out = append(out, f)
	}
	return out
}

// list fills in values by their counts.
func (f *Facet) list(counts map[string]int, selected []string, most int) {
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
	less := func(a, b FacetValue) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value)) }
	f.Values = all
	if len(all) > most {
		f.Values = slices.Clone(quickselect.First(all, most, less))
		for _, v := range all[most:] {
			if v.Selected {
				f.Values = append(f.Values, v)
			}
		}
	}
	slices.SortFunc(f.Values[:min(most, len(f.Values))], less)
	slices.SortFunc(f.Values[min(most, len(f.Values)):], less)
	for _, v := range f.Values {
		f.Other -= v.Count
	}
}

// dates fills in the ranges.
func (q *Query) dates(f *Facet, sum *rank.FacetCounts) {
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
