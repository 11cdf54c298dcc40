package resident

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/magpie-search/magpie/internal/index"
)

// maxParts is the largest number of segments in a snapshot.
const maxParts = 8

// merge rewrites segments of which more than a quarter is dead. Where there are more
// than maxParts, it joins the small ones, so that a passage is rewritten about as
// often as the collection has doubled since the passage was added.
func (d *draft) merge() error {
	d.parts = slices.DeleteFunc(d.parts, func(p draftPart) bool { return p.passages == 0 })
	for i := range d.parts {
		if p := &d.parts[i]; 4*(p.passageCount()-p.passages) > p.passageCount() {
			merged, err := d.join(d.parts[i : i+1])
			if err != nil {
				return err
			}
			d.parts[i] = merged
		}
	}
	if len(d.parts) <= maxParts {
		return nil
	}
	slices.SortStableFunc(d.parts, func(a, b draftPart) int { return cmp.Compare(b.passages, a.passages) })
	// Join the smallest parts, up to the first that is more than twice as large as all
	// smaller ones together.
	from, smaller := len(d.parts)-1, 0
	for from > 0 && (d.parts[from].passages <= 2*smaller || from >= maxParts/2) {
		smaller += d.parts[from].passages
		from--
	}
	if d.parts[from].passages > 2*smaller {
		from++
	}
	merged, err := d.join(d.parts[from:])
	if err != nil {
		return err
	}
	d.parts = append(d.parts[:from], merged)
	return nil
}

// join returns one segment with the live documents of the parts.
func (d *draft) join(parts []draftPart) (draftPart, error) {
	b := newBuilder()
	var tokens []token
	for i := range parts {
		p := &parts[i]
		interned := make([]uint32, len(p.terms.passages)) // interned number plus one, by term
		for w, word := range p.liveDocuments {
			for ; word != 0; word &= word - 1 {
				document := u32(w<<6 + bits.TrailingZeros64(word))
				a := p.segment.documents.attributes(document)
				b.addDocument(&a)
				for passage := p.first[document]; passage < p.first[document+1]; passage++ {
					tokens = p.tokens(tokens[:0], passage)
					for j := range tokens {
						n := &interned[tokens[j].term]
						if *n == 0 {
							*n = b.intern.intern([]byte(p.terms.term(tokens[j].term))) + 1
						}
						tokens[j].term = *n - 1
					}
					added := b.addPassage(p.ids[passage], p.ordinals[passage], p.fieldWords(passage), tokens)
					for _, v := range p.vectors {
						if slot := v.slot(passage); slot >= 0 {
							b.vectorsOf(v.length).copy(added, v, slot)
						}
					}
				}
			}
		}
	}
	if err := b.checkSize(); err != nil {
		return draftPart{}, err
	}
	s, err := b.finish(d.quantizer)
	if err != nil {
		return draftPart{}, err
	}
	return newDraftPart(s), nil
}

// fieldWords returns the lengths of a passage's fields.
func (s *segment) fieldWords(passage uint32) [index.FieldCount]int32 {
	w := s.words[passage]
	return [index.FieldCount]int32{
		index.FieldTitle: w[0], index.FieldHeading: w[1], index.FieldPath: w[2], index.FieldBody: s.bodyWords[passage],
	}
}
