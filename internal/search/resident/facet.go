package resident

import (
	"context"
	"math/bits"

	"github.com/magpie-search/magpie/internal/search/rank"
)

// Facets implements [rank.Source].
func (v *View) Facets(ctx context.Context, r *rank.FacetRequest) (*rank.FacetCounts, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := rank.NewFacetCounts(r)
	spans := spansOf(r.Ranges)
	s := v.snapshot
	chosen := v.documents(r.Passages)
	for i := range s.parts {
		p := &s.parts[i]
		p.segment.documents.tally(r.Facets, spans, p.documentsWithin(chosen), out)
	}
	return out, nil
}

// documents are those of passages, or with nil all that the filter leaves a
// passage of.
func (v *View) documents(passages []rank.Candidate) bitmap {
	s := v.snapshot
	if passages == nil && v.everything() {
		return s.liveDocuments
	}
	chosen := make(bitmap, len(s.liveDocuments))
	if passages != nil {
		for i := range passages {
			if ref, ok := v.known(&passages[i]); ok {
				p := s.partOf(ref)
				chosen.set(p.documentBase + p.documentOf[ref-p.base])
			}
		}
		return chosen
	}
	for i := range s.parts {
		p := &s.parts[i]
		selected, documents := p.within(v.selected), p.documentsWithin(chosen)
		for d := range number(p.documentCount()) {
			if selected.any(p.first[d], p.first[d+1]) {
				documents.set(d)
			}
		}
	}
	return chosen
}

// span is a range in microseconds, the end exclusive.
type span struct{ from, until int64 }

func spansOf(ranges []rank.Range) []span {
	spans := make([]span, len(ranges))
	for i, r := range ranges {
		spans[i] = span{unknownTime + 1, 1<<63 - 1}
		if !r.From.IsZero() {
			spans[i].from = microsUp(r.From)
		}
		if !r.Until.IsZero() {
			spans[i].until = microsUp(r.Until)
		}
	}
	return spans
}

// tally adds chosen documents to the counts.
func (d *documents) tally(facets []rank.Facet, spans []span, chosen bitmap, out *rank.FacetCounts) {
	if out.Documents += chosen.count(); chosen.count() == 0 {
		return
	}
	for _, f := range facets {
		counts, without := make([]int, len(d.names[f])), 0
		if f == rank.FacetTag {
			chosen.each(func(document uint32) {
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
			chosen.each(func(document uint32) { counts[column[document]]++ })
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
	if len(spans) == 0 {
		return
	}
	chosen.each(func(document uint32) {
		at := d.time[document]
		if at == unknownTime {
			out.Undated++
			return
		}
		for i, s := range spans {
			if at >= s.from && at < s.until {
				out.Ranges[i]++
			}
		}
	})
}

// each calls f for the numbers of the set, in their order.
func (b bitmap) each(f func(uint32)) {
	for w, word := range b {
		for ; word != 0; word &= word - 1 {
			f(number(w<<6 + bits.TrailingZeros64(word)))
		}
	}
}
