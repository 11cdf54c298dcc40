package resident

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// Snapshot is the state of an index at one moment. Any number of searches may
// read it at the same time; it keeps what it needs alive.
type Snapshot struct {
	index.Position // the index is that of the store at this position

	index *Index
	model string
	parts []part
	// live are the passages that searches may find, and liveDocuments their
	// documents, by their numbers in the whole snapshot.
	live, liveDocuments bitmap
	statistics          rank.Statistics
	samples             []sample
	bytes               int64
}

// part is a segment in a snapshot. Its passages and documents are numbered from
// a base on, which is a multiple of 64, so that each part has its own words of
// the snapshot's bitmaps.
type part struct {
	*segment
	base, documentBase uint32
	// dead is by term in how many dead passages it stands, nil for none.
	dead []uint32
	// What is live in the part.
	documents, passages int
	bodyWords           int64
}

// Model is the embedding model that the vectors are of.
func (s *Snapshot) Model() string { return s.model }

// Statistics counts what can be found.
func (s *Snapshot) Statistics() rank.Statistics { return s.statistics }

// Bytes is the memory that the snapshot holds.
func (s *Snapshot) Bytes() int64 { return s.bytes }

// within returns a part's share of a bitmap over all passages.
func (p *part) within(b bitmap) bitmap {
	from := int(p.base >> 6)
	return b[from : from+bitmapWords(p.passageCount())]
}

// documentsWithin returns a part's share of a bitmap over all documents.
func (p *part) documentsWithin(b bitmap) bitmap {
	from := int(p.documentBase >> 6)
	return b[from : from+bitmapWords(p.documentCount())]
}

// partOf returns the part that a passage of the snapshot is in.
func (s *Snapshot) partOf(ref uint32) *part {
	i := len(s.parts) - 1
	for i > 0 && s.parts[i].base > ref {
		i--
	}
	return &s.parts[i]
}

func (s *Snapshot) id(ref uint32) uuid.UUID {
	p := s.partOf(ref)
	return p.ids[ref-p.base]
}

// draft is a snapshot in the making.
type draft struct {
	index *Index
	at    index.Position
	model string
	parts []draftPart
}

// draftPart is a segment of a draft. Its bitmaps and counts are its own until
// it is written for the first time.
type draftPart struct {
	part
	live, liveDocuments bitmap
	stamps              []uint32 // by term: the last dead passage that it was counted for, and one more
}

func (s *Snapshot) draftParts() []draftPart {
	parts := make([]draftPart, len(s.parts))
	for i := range s.parts {
		p := &s.parts[i]
		parts[i] = draftPart{part: *p, live: slices.Clone(p.within(s.live)), liveDocuments: slices.Clone(p.documentsWithin(s.liveDocuments))}
		parts[i].dead = slices.Clone(p.dead)
	}
	return parts
}

// newDraftPart makes the part of a segment of which everything is live.
func newDraftPart(s *segment) draftPart {
	p := draftPart{part: part{segment: s, documents: s.documentCount(), passages: s.passageCount()}}
	p.live, p.liveDocuments = make(bitmap, bitmapWords(p.passages)), make(bitmap, bitmapWords(p.documents))
	p.live.setRange(0, number(p.passages))
	p.liveDocuments.setRange(0, number(p.documents))
	for _, n := range s.bodyWords {
		p.bodyWords += int64(n)
	}
	return p
}

// take puts what a builder was told on top of the draft.
func (d *draft) take(b *builder) error {
	for _, g := range b.gone {
		d.remove(g.id)
	}
	for _, id := range b.documents.out.ids {
		d.remove(id)
	}
	gone := b.gone
	s, err := b.finish(d.coder)
	if err != nil || s == nil {
		return err
	}
	p := newDraftPart(s)
	for _, g := range gone {
		for _, document := range s.documents.find(g.id) {
			if int(document) < g.before {
				p.remove(document)
			}
		}
	}
	// Of a document that was told of several times the last one counts.
	byID := s.documents.byID
	for i := 1; i < len(byID); i++ {
		if s.documents.ids[byID[i]] == s.documents.ids[byID[i-1]] {
			p.remove(byID[i-1])
		}
	}
	if p.documents > 0 {
		d.parts = append(d.parts, p)
	}
	return nil
}

func (d *draft) remove(id uuid.UUID) {
	for i := range d.parts {
		p := &d.parts[i]
		for _, document := range p.segment.documents.find(id) {
			p.remove(document)
		}
	}
}

// remove makes a document dead.
func (p *draftPart) remove(document uint32) {
	if !p.liveDocuments.has(document) {
		return
	}
	p.liveDocuments.unset(document)
	p.documents--
	if p.dead == nil {
		p.dead = make([]uint32, len(p.terms.passages))
	}
	if p.stamps == nil {
		p.stamps = make([]uint32, len(p.terms.passages))
	}
	var tokens []token
	for passage := p.first[document]; passage < p.first[document+1]; passage++ {
		p.live.unset(passage)
		p.passages--
		p.bodyWords -= int64(p.segment.bodyWords[passage])
		tokens = p.tokens(tokens[:0], passage)
		for _, t := range tokens {
			if p.stamps[t.term] != passage+1 {
				p.stamps[t.term] = passage + 1
				p.dead[t.term]++
			}
		}
	}
}

// coder returns that of the most vectors of a length.
func (d *draft) coder(length int) *coder {
	var best *coder
	for i := range d.parts {
		if v := d.parts[i].vectorsOf(length); v != nil && (best == nil || v.coder.sample > best.sample) {
			best = v.coder
		}
	}
	return best
}

// snapshot publishes the draft; it is not used any more then.
func (d *draft) snapshot() *Snapshot {
	s := &Snapshot{index: d.index, Position: d.at, model: d.model}
	passages, documents := 0, 0
	for i := range d.parts {
		p := &d.parts[i]
		p.base, p.documentBase = number(passages), number(documents)
		passages += 64 * len(p.live)
		documents += 64 * len(p.liveDocuments)
	}
	s.live, s.liveDocuments = make(bitmap, 0, passages/64), make(bitmap, 0, documents/64)
	s.parts = make([]part, len(d.parts))
	coders := map[*coder]bool{}
	for i := range d.parts {
		p := &d.parts[i]
		s.live, s.liveDocuments = append(s.live, p.live...), append(s.liveDocuments, p.liveDocuments...)
		s.parts[i] = p.part
		s.statistics.Documents += p.documents
		s.statistics.Passages += p.passages
		s.statistics.BodyWords += p.part.bodyWords
		s.bytes += p.segment.bytes() + int64(4*len(p.dead))
		for _, v := range p.vectors {
			if !coders[v.coder] {
				coders[v.coder] = true
				s.bytes += v.coder.bytes()
			}
		}
	}
	s.bytes += int64(8 * (cap(s.live) + cap(s.liveDocuments)))
	s.sample()
	return s
}

// sample is the vectors of some of the live passages, of one length: copies, that
// lie side by side.
type sample struct {
	length     int
	components []int8
	inverse    []float32
}

// similarity is the cosine of the i-th vector and a question.
func (x *sample) similarity(i int, q *question) float64 {
	return q.similarity(x.components[i*x.length:(i+1)*x.length], x.inverse[i])
}

func (x *sample) bytes() int64 { return int64(cap(x.components) + 4*cap(x.inverse)) }

// sampleSize is how many passages a sample has at most.
const sampleSize = 512

// sample chooses the passages for Chance: those whose ids have the smallest
// hashes. It is the same for the same passages, however they are stored, and
// hardly changes when some of them do (Broder's bottom sketch, 1997).
func (s *Snapshot) sample() {
	var lengths []int
	for i := range s.parts {
		for _, v := range s.parts[i].vectors {
			if !slices.Contains(lengths, v.length) {
				lengths = append(lengths, v.length)
			}
		}
	}
	type hashed struct {
		hash uint64
		ref  uint32
	}
	for _, length := range lengths {
		var found []hashed
		limit := ^uint64(0)
		cut := func() {
			slices.SortFunc(found, func(a, b hashed) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.ref, b.ref)) })
			if len(found) > sampleSize {
				found = found[:sampleSize]
				limit = found[sampleSize-1].hash
			}
		}
		for i := range s.parts {
			p := &s.parts[i]
			v := p.vectorsOf(length)
			if v == nil {
				continue
			}
			live := p.within(s.live)
			for slot := range v.count() {
				passage := v.passage(slot)
				if h := hashID(p.ids[passage]); h < limit && live.has(passage) {
					if found = append(found, hashed{h, p.base + passage}); len(found) == 4*sampleSize {
						cut()
					}
				}
			}
		}
		cut()
		if len(found) == 0 {
			continue
		}
		x := sample{length, make([]int8, 0, len(found)*length), make([]float32, 0, len(found))}
		for _, f := range found {
			p := s.partOf(f.ref)
			v := p.vectorsOf(length)
			slot := v.slot(f.ref - p.base)
			x.components, x.inverse = append(x.components, v.components(slot)...), append(x.inverse, v.inverse[slot])
		}
		s.samples = append(s.samples, x)
		s.bytes += x.bytes()
	}
}

func hashID(id uuid.UUID) uint64 {
	h := binary.LittleEndian.Uint64(id[:8])*0x9e3779b97f4a7c15 ^ binary.LittleEndian.Uint64(id[8:])
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
