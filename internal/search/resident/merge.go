package resident

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/magpie-search/magpie/internal/index"
)

// mostParts is how many segments a snapshot has at most.
const mostParts = 8

// merge rewrites segments of which more than a quarter is dead, and when there
// are too many puts the small ones together: every passage is rewritten about
// as often as the collection has doubled since it came.
func (d *draft) merge() error {
	kept := d.parts[:0]
	for _, p := range d.parts {
		if p.passages > 0 {
			kept = append(kept, p)
		}
	}
	d.parts = kept
	for i := range d.parts {
		if p := &d.parts[i]; 4*(p.passageCount()-p.passages) > p.passageCount() {
			merged, err := d.join(d.parts[i : i+1])
			if err != nil {
				return err
			}
			d.parts[i] = merged
		}
	}
	if len(d.parts) <= mostParts {
		return nil
	}
	slices.SortStableFunc(d.parts, func(a, b draftPart) int { return cmp.Compare(b.passages, a.passages) })
	// All below the first one that is larger than twice what stands below it.
	from, below := len(d.parts)-1, 0
	for from > 0 && (d.parts[from].passages <= 2*below || from >= mostParts/2) {
		below += d.parts[from].passages
		from--
	}
	if d.parts[from].passages > 2*below {
		from++
	}
	merged, err := d.join(d.parts[from:])
	if err != nil {
		return err
	}
	d.parts = append(d.parts[:from], merged)
	return nil
}

// join makes one segment of the live documents of some.
func (d *draft) join(parts []draftPart) (draftPart, error) {
	b := newBuilder()
	var tokens []token
	for i := range parts {
		p := &parts[i]
		numbers := make([]uint32, len(p.terms.passages)) // interned number and one more, by term
		for w, word := range p.liveDocuments {
			for ; word != 0; word &= word - 1 {
				document := number(w<<6 + bits.TrailingZeros64(word))
				a := p.segment.documents.attributesAt(document)
				b.begin(&a)
				for passage := p.first[document]; passage < p.first[document+1]; passage++ {
					tokens = p.tokens(tokens[:0], passage)
					for j := range tokens {
						n := &numbers[tokens[j].term]
						if *n == 0 {
							*n = b.intern.intern([]byte(p.terms.term(tokens[j].term))) + 1
						}
						tokens[j].term = *n - 1
					}
					b.passage(p.ids[passage], p.ordinals[passage], p.wordsOf(passage), tokens)
					for _, v := range p.vectors {
						if slot := v.slot(passage); slot >= 0 {
							b.vectorsOf(v.length).copy(b.newest(), v, slot)
						}
					}
				}
			}
		}
	}
	if err := b.fits(); err != nil {
		return draftPart{}, err
	}
	s, err := b.finish(d.coder)
	if err != nil {
		return draftPart{}, err
	}
	return newDraftPart(s), nil
}

// wordsOf returns the lengths of a passage's fields.
func (s *segment) wordsOf(passage uint32) [index.FieldCount]int32 {
	w := s.words[passage]
	return [index.FieldCount]int32{
		index.FieldTitle: w[0], index.FieldHeading: w[1], index.FieldPath: w[2], index.FieldBody: s.bodyWords[passage],
	}
}
