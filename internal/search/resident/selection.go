package resident

import (
	"math/bits"
	"slices"
	"time"

	"github.com/magpie-search/magpie/internal/search/rank"
)

// selection returns the passages that the filter leaves.
func (v *View) selection() bitmap {
	if v.selected != nil {
		return v.selected
	}
	s := v.snapshot
	if v.filter != nil && v.filter.Readers != nil && !s.restricted() {
		all := *v.filter
		all.Readers = nil
		v.filter = &all
	}
	if v.filter == nil || unfiltered(v.filter) {
		v.selected, v.all, v.count = s.live, true, s.statistics.Passages
		if v.selected == nil {
			v.selected = bitmap{}
		}
		return v.selected
	}
	v.selected = make(bitmap, len(s.live))
	for i := range s.parts {
		p := &s.parts[i]
		out := p.within(v.selected)
		if attributesFree(v.filter) {
			copy(out, p.within(s.live))
		} else {
			p.filter(v.filter, p.documentsWithin(s.liveDocuments), out)
		}
		if len(v.filter.Phrases)+len(v.filter.Excluded) > 0 {
			p.filterPhrases(v.filter, out)
		}
	}
	v.count = v.selected.count()
	return v.selected
}

// restricted reports whether some document is not for everybody.
func (s *Snapshot) restricted() bool {
	return slices.ContainsFunc(s.parts, func(p part) bool { return len(p.segment.documents.readers) > 0 })
}

// everything reports whether the filter leaves all that is live.
func (v *View) everything() bool {
	v.selection()
	return v.all
}

func unfiltered(f *rank.Filter) bool {
	return attributesFree(f) && len(f.Phrases) == 0 && len(f.Excluded) == 0
}

// attributesFree reports whether documents' attributes do not matter.
func attributesFree(f *rank.Filter) bool {
	for _, list := range f.Values {
		if len(list) > 0 {
			return false
		}
	}
	return len(f.Documents) == 0 && f.From.IsZero() && f.Until.IsZero() && f.Readers == nil
}

// filter sets the passages of the live documents whose attributes match.
func (p *part) filter(f *rank.Filter, live, out bitmap) {
	d := &p.segment.documents
	chosen := slices.Clone(live)
	if len(f.Documents) > 0 {
		clear(chosen)
		for _, id := range f.Documents {
			for _, document := range d.find(id) {
				if live.has(document) {
					chosen.set(document)
				}
			}
		}
	}
	for facet, any := range f.Values[:rank.FacetTag] {
		if len(any) > 0 {
			wanted, column := d.names[facet].wanted(any), d.values[facet]
			chosen.keep(func(document uint32) bool { return wanted[column[document]] })
		}
	}
	if tags := f.Values[rank.FacetTag]; len(tags) > 0 {
		wanted := d.names[rank.FacetTag].wanted(tags)
		chosen.keep(func(document uint32) bool {
			return slices.ContainsFunc(d.tagsOf(document), func(t uint32) bool { return wanted[t] })
		})
	}
	if !f.From.IsZero() {
		from := microsUp(f.From)
		chosen.keep(func(document uint32) bool { return d.time[document] != unknownTime && d.time[document] >= from })
	}
	if !f.Until.IsZero() {
		until := microsUp(f.Until)
		chosen.keep(func(document uint32) bool { return d.time[document] != unknownTime && d.time[document] < until })
	}
	if f.Readers != nil && len(d.readers) > 0 {
		allowed := d.allowed(f.Readers)
		chosen.keep(func(document uint32) bool { return allowed[d.readers[document]] })
	}
	for w, word := range chosen {
		for ; word != 0; word &= word - 1 {
			document := w<<6 + bits.TrailingZeros64(word)
			out.setRange(p.first[document], p.first[document+1])
		}
	}
}

// keep takes the numbers for which f is false out of the set.
func (b bitmap) keep(f func(uint32) bool) {
	for w, word := range b {
		for rest := word; rest != 0; rest &= rest - 1 {
			if i := bits.TrailingZeros64(rest); !f(number(w<<6 + i)) {
				b[w] &^= 1 << i
			}
		}
	}
}

// wanted tells of every name whether it is in a list. The empty name, which is
// an unknown value, never is.
func (n names) wanted(list []string) []bool {
	out := make([]bool, len(n))
	for _, name := range list {
		if i, ok := n.find(name); ok && name != "" {
			out[i] = true
		}
	}
	return out
}

// allowed tells of every set of readers whether one of the principals is in it.
func (d *documents) allowed(principals []string) []bool {
	wanted := make([]bool, len(d.principals))
	for _, name := range principals {
		if i, ok := d.principals.find(name); ok {
			wanted[i] = true
		}
	}
	out := make([]bool, len(d.memberAt)-1)
	out[everyone] = true
	for set := 1; set < len(out); set++ {
		out[set] = slices.ContainsFunc(d.member[d.memberAt[set]:d.memberAt[set+1]], func(m uint32) bool { return wanted[m] })
	}
	return out
}

// microsUp is a time in microseconds, rounded up: no whole microsecond lies between.
func microsUp(t time.Time) int64 {
	m := t.UnixMicro()
	if t.Nanosecond()%1000 != 0 {
		m++
	}
	return m
}
