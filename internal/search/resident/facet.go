package resident

import (
	"context"

	"github.com/magpie-search/magpie/internal/search/rank"
)

// Facets implements [rank.Source].
func (v *View) Facets(ctx context.Context, r *rank.FacetRequest) (*rank.FacetCounts, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := rank.NewFacetCounts(r)
	ranges := microRanges(r.Ranges)
	s := v.snapshot
	documents := v.documents(r.Passages)
	for i := range s.parts {
		p := &s.parts[i]
		p.segment.documents.countFacets(r.Facets, ranges, p.documentsWithin(documents), out)
	}
	return out, nil
}

// documents returns the documents of passages. With nil it returns every document
// of which the filter selects a passage.
func (v *View) documents(passages []rank.Candidate) bitmap {
	s := v.snapshot
	if passages == nil && v.selectsAll() {
		return s.liveDocuments
	}
	out := make(bitmap, len(s.liveDocuments))
	if passages != nil {
		for i := range passages {
			if ref, ok := v.refOf(&passages[i]); ok {
				p := s.partOf(ref)
				out.set(p.documentBase + p.documentOf[ref-p.base])
			}
		}
		return out
	}
	for i := range s.parts {
		p := &s.parts[i]
		selected, documents := p.within(v.selected), p.documentsWithin(out)
		for d := range u32(p.documentCount()) {
			if selected.any(p.first[d], p.first[d+1]) {
				documents.set(d)
			}
		}
	}
	return out
}

// microRange is a range in microseconds, the end exclusive.
type microRange struct{ from, until int64 }

func microRanges(ranges []rank.Range) []microRange {
	out := make([]microRange, len(ranges))
	for i, r := range ranges {
		out[i] = microRange{unknownTime + 1, 1<<63 - 1}
		if !r.From.IsZero() {
			out[i].from = microsUp(r.From)
		}
		if !r.Until.IsZero() {
			out[i].until = microsUp(r.Until)
		}
	}
	return out
}

// countFacets adds the selected documents to the counts.
func (d *documents) countFacets(facets []rank.Facet, ranges []microRange, selected bitmap, out *rank.FacetCounts) {
	n := selected.count()
	if out.Documents += n; n == 0 {
		return
	}
	for _, f := range facets {
		counts, without := make([]int, len(d.names[f])), 0
		if f == rank.FacetTag {
			selected.each(func(document uint32) {
				tags := d.tagsOf(document)
				if len(tags) == 0 {
					without++
				}
				for _, t := range tags {
					counts[t]++
				}
			})
		} else {
			column := d.values[f]
			selected.each(func(document uint32) { counts[column[document]]++ })
		}
		values := out.Values[f]
		for i, n := range counts {
			if n > 0 {
				values[d.names[f][i]] += n
			}
		}
		if without > 0 {
			values[""] += without
		}
	}
	if len(ranges) == 0 {
		return
	}
	selected.each(func(document uint32) {
		t := d.time[document]
		if t == unknownTime {
			out.Undated++
			return
		}
		for i, r := range ranges {
			if t >= r.from && t < r.until {
				out.Ranges[i]++
			}
		}
	})
}
