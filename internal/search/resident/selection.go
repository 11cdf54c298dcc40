package resident

import (
	"slices"
	"time"

	"github.com/magpie-search/magpie/internal/search/rank"
)

// selection returns the passages that the filter selects.
func (v *View) selection() bitmap {
	if v.selected != nil {
		return v.selected
	}
	s := v.snapshot
	if v.filter != nil && v.filter.Readers != nil && !s.restricted() {
		anyReader := *v.filter
		anyReader.Readers = nil
		v.filter = &anyReader
	}
	if v.filter == nil || matchesAnyDocument(v.filter) && len(v.filter.Phrases)+len(v.filter.Excluded) == 0 {
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
		if matchesAnyDocument(v.filter) {
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

// restricted reports whether any document is restricted to readers.
func (s *Snapshot) restricted() bool {
	return slices.ContainsFunc(s.parts, func(p part) bool { return len(p.segment.documents.readerSet) > 0 })
}

// selectsAll reports whether the filter selects every live passage.
func (v *View) selectsAll() bool {
	v.selection()
	return v.all
}

// matchesAnyDocument reports whether a filter has no condition on documents.
func matchesAnyDocument(f *rank.Filter) bool {
	for _, list := range f.Values {
		if len(list) > 0 {
			return false
		}
	}
	return len(f.Documents) == 0 && f.From.IsZero() && f.Until.IsZero() && f.Readers == nil
}

// filter adds to out the passages of the live documents whose attributes match.
func (p *part) filter(f *rank.Filter, live, out bitmap) {
	d := &p.segment.documents
	matches := slices.Clone(live)
	if len(f.Documents) > 0 {
		clear(matches)
		for _, id := range f.Documents {
			for _, document := range d.find(id) {
				if live.has(document) {
					matches.set(document)
				}
			}
		}
	}
	for facet, list := range f.Values[:rank.FacetTag] {
		if len(list) > 0 {
			listed, column := d.names[facet].membership(list), d.values[facet]
			matches.retain(func(document uint32) bool { return listed[column[document]] })
		}
	}
	if tags := f.Values[rank.FacetTag]; len(tags) > 0 {
		listed := d.names[rank.FacetTag].membership(tags)
		matches.retain(func(document uint32) bool {
			return slices.ContainsFunc(d.tagsOf(document), func(t uint32) bool { return listed[t] })
		})
	}
	if !f.From.IsZero() {
		from := microsUp(f.From)
		matches.retain(func(document uint32) bool { return d.time[document] != unknownTime && d.time[document] >= from })
	}
	if !f.Until.IsZero() {
		until := microsUp(f.Until)
		matches.retain(func(document uint32) bool { return d.time[document] != unknownTime && d.time[document] < until })
	}
	if f.Readers != nil && len(d.readerSet) > 0 {
		readable := d.readableSets(f.Readers)
		matches.retain(func(document uint32) bool { return readable[d.readerSet[document]] })
	}
	matches.each(func(document uint32) { out.setRange(p.first[document], p.first[document+1]) })
}

// membership returns, for each name, whether it is in a list. The empty name, which
// is an unknown value, never is.
func (n names) membership(list []string) []bool {
	out := make([]bool, len(n))
	for _, name := range list {
		if i, ok := n.find(name); ok && name != "" {
			out[i] = true
		}
	}
	return out
}

// readableSets returns, for each set of readers, whether it has one of the principals,
// and the set that belongs to it too.
func (d *documents) readableSets(principals []string) []bool {
	listed := make([]bool, len(d.principals))
	for _, name := range principals {
		if i, ok := d.principals.find(name); ok {
			listed[i] = true
		}
	}
	out := make([]bool, len(d.readerAt)-1)
	out[everyone] = true
	for set := 1; set < len(out); set++ {
		out[set] = slices.ContainsFunc(d.reader[d.readerAt[set]:d.readerAt[set+1]], func(r uint32) bool { return listed[r] }) && out[d.alsoSet[set]]
	}
	return out
}

// microsUp returns a time in microseconds, rounded up.
func microsUp(t time.Time) int64 {
	m := t.UnixMicro()
	if t.Nanosecond()%1000 != 0 {
		m++
	}
	return m
}
