package resident

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// A Snapshot is the state of an index at one moment. It is immutable and safe for
// concurrent use.
type Snapshot struct {
	index.Position // of the store

	index *Index
	model string
	parts []part
	// live are the passages that searches may find, and liveDocuments their
	// documents, by their numbers in the snapshot.
	live, liveDocuments bitmap
	statistics          rank.Statistics
	samples             []sample
	bytes               int64
}

// A part is a segment of a snapshot. Its passages and documents are numbered from a
// base that is a multiple of 64, so that each part has its own words of the
// snapshot's bitmaps.
type part struct {
	*segment
	base, documentBase uint32
	// dead is the number of dead passages that contain a term, nil if none is dead.
	dead []uint32
	// Live documents and passages, and the length of the live bodies.
	documents, passages int
	bodyWords           int64
}

// Model returns the embedding model of the vectors.
func (s *Snapshot) Model() string { return s.model }

// Languages returns the languages of the documents, "" among them for documents of
// unknown language. They may include languages of documents that are gone.
func (s *Snapshot) Languages() []string {
	var out []string
	for i := range s.parts {
		for _, language := range s.parts[i].segment.documents.names[rank.FacetLanguage] {
			if !slices.Contains(out, language) {
				out = append(out, language)
			}
		}
	}
	return out
}

// Statistics counts live documents and passages.
func (s *Snapshot) Statistics() rank.Statistics { return s.statistics }

// Bytes returns the memory that the snapshot holds.
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

// partOf returns the part of a passage.
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

// A draft becomes a snapshot.
type draft struct {
	index    *Index
	position index.Position
	model    string
	parts    []draftPart
}

// A draftPart is a segment of a draft, with bitmaps and counts of its own.
type draftPart struct {
	part
	live, liveDocuments bitmap
	counted             []uint32 // by term: number plus one of the last dead passage in which it was counted
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

// newDraftPart returns the part of a segment whose documents are all live.
func newDraftPart(s *segment) draftPart {
	p := draftPart{part: part{segment: s, documents: s.documentCount(), passages: s.passageCount()}}
	p.live, p.liveDocuments = make(bitmap, bitmapWords(p.passages)), make(bitmap, bitmapWords(p.documents))
	p.live.setRange(0, u32(p.passages))
	p.liveDocuments.setRange(0, u32(p.documents))
	for _, n := range s.bodyWords {
		p.bodyWords += int64(n)
	}
	return p
}

// apply adds the documents of a builder to the draft and removes their old versions
// and the deleted documents.
func (d *draft) apply(b *builder) error {
	for _, deletion := range b.deletions {
		d.remove(deletion.id)
	}
	for _, id := range b.documents.out.ids {
		d.remove(id)
	}
	if len(b.out.ids) == 0 {
		return nil
	}
	deletions := b.deletions
	s, err := b.finish(d.quantizer)
	if err != nil {
		return err
	}
	p := newDraftPart(s)
	for _, deletion := range deletions {
		for _, document := range s.documents.find(deletion.id) {
			if int(document) < deletion.before {
				p.remove(document)
			}
		}
	}
	// The last version of a document that was added several times counts.
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

// remove marks a document as dead.
func (p *draftPart) remove(document uint32) {
	if !p.liveDocuments.has(document) {
		return
	}
	p.liveDocuments.unset(document)
	p.documents--
	if p.dead == nil {
		p.dead = make([]uint32, len(p.terms.passages))
	}
	if p.counted == nil {
		p.counted = make([]uint32, len(p.terms.passages))
	}
	var tokens []token
	for passage := p.first[document]; passage < p.first[document+1]; passage++ {
		p.live.unset(passage)
		p.passages--
		p.bodyWords -= int64(p.segment.bodyWords[passage])
		tokens = p.tokens(tokens[:0], passage)
		for _, t := range tokens {
			if p.counted[t.term] != passage+1 {
				p.counted[t.term] = passage + 1
				p.dead[t.term]++
			}
		}
	}
}

// quantizer returns the quantizer of vectors of a length that has seen the most
// vectors; nil if there is none.
func (d *draft) quantizer(length int) *quantizer {
	var best *quantizer
	for i := range d.parts {
		if v := d.parts[i].vectorsOf(length); v != nil && (best == nil || v.quantizer.sample > best.sample) {
			best = v.quantizer
		}
	}
	return best
}

// snapshot returns the draft as a snapshot. The draft must not be used afterwards.
func (d *draft) snapshot() *Snapshot {
	s := &Snapshot{index: d.index, Position: d.position, model: d.model}
	passages, documents := 0, 0
	for i := range d.parts {
		p := &d.parts[i]
		p.base, p.documentBase = u32(passages), u32(documents)
		passages += 64 * len(p.live)
		documents += 64 * len(p.liveDocuments)
	}
	s.live, s.liveDocuments = make(bitmap, 0, passages/64), make(bitmap, 0, documents/64)
	s.parts = make([]part, len(d.parts))
	quantizers := map[*quantizer]bool{}
	for i := range d.parts {
		p := &d.parts[i]
		s.live, s.liveDocuments = append(s.live, p.live...), append(s.liveDocuments, p.liveDocuments...)
		s.parts[i] = p.part
		s.statistics.Documents += p.documents
		s.statistics.Passages += p.passages
		s.statistics.BodyWords += p.part.bodyWords
		s.bytes += p.segment.bytes() + int64(4*len(p.dead))
		for _, v := range p.vectors {
			if !quantizers[v.quantizer] {
				quantizers[v.quantizer] = true
				s.bytes += v.quantizer.bytes()
			}
		}
	}
	s.bytes += int64(8 * (cap(s.live) + cap(s.liveDocuments)))
	s.setSamples()
	return s
}

// A sample holds vectors of one length of some live passages, copied so that they lie
// side by side.
type sample struct {
	length     int
	components []int8
	scale      []float32
}

// similarity returns the cosine of the i-th vector and a query vector.
func (x *sample) similarity(i int, q *queryVector) float64 {
	return q.similarity(x.components[i*x.length:(i+1)*x.length], x.scale[i])
}

func (x *sample) bytes() int64 { return int64(cap(x.components) + 4*cap(x.scale)) }

// sampleSize is the largest number of vectors in a sample.
const sampleSize = 512

// setSamples samples the vectors for Background. A sample consists of the passages
// whose ids have the smallest hashes. It does not depend on how the passages are
// stored, and changes little when some of them change (Broder's bottom sketch, 1997).
func (s *Snapshot) setSamples() {
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
		var smallest []hashed
		limit := ^uint64(0)
		truncate := func() {
			slices.SortFunc(smallest, func(a, b hashed) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.ref, b.ref)) })
			if len(smallest) > sampleSize {
				smallest = smallest[:sampleSize]
				limit = smallest[sampleSize-1].hash
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
					if smallest = append(smallest, hashed{h, p.base + passage}); len(smallest) == 4*sampleSize {
						truncate()
					}
				}
			}
		}
		truncate()
		if len(smallest) == 0 {
			continue
		}
		x := sample{length, make([]int8, 0, len(smallest)*length), make([]float32, 0, len(smallest))}
		for _, h := range smallest {
			p := s.partOf(h.ref)
			v := p.vectorsOf(length)
			slot := v.slot(h.ref - p.base)
			x.components, x.scale = append(x.components, v.components(slot)...), append(x.scale, v.scale[slot])
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
