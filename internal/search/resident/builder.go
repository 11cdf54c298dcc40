package resident

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
)

// ErrTooLarge is returned for a collection that exceeds the size of an index or the
// budget of a cache.
var ErrTooLarge = errors.New("the collection is too large to be kept in memory")

// maxBytes is the largest size of each of a segment's arrays: offsets have 32 bits.
const maxBytes = math.MaxUint32 - 1<<20

// A builder makes a segment of documents that are added one after another. Until
// finish it holds their terms under interned numbers; everything else has its final
// form.
type builder struct {
	out       segment
	documents documentBuilder
	deletions []deletion
	vectors   []*vectorBuilder

	intern interner
	// By interned term. Before post: the number of passages that contain the term, its
	// occurrences, the number plus one of its last passage, and the size of its
	// postings. In post, total counts the postings written, last is the last passage
	// written, plus one, and size is the offset of the next posting.
	passages, total, last, size []uint32

	text     chunks // coded terms of passages, see appendTokens
	textAt   []chunkRef
	titles   []byte // coded terms of titles
	titleAt  []uint32
	overhead int64 // number of codes that are no terms

	lexemes lexemeReader
	hashes  []index.TermHash // by interned term
	print   index.Fingerprinter
	counts  []occurrences // of the current passage, by interned term
	terms   []uint32      // of the current passage, each once
	buffer  []byte
	title   []token
}

// A deletion is a document that was deleted after so many documents were added.
type deletion struct {
	id     uuid.UUID
	before int
}

func newBuilder() *builder { return &builder{intern: *newInterner()} }

// bytes returns the approximate memory of the builder.
func (b *builder) bytes() int64 {
	n := b.intern.bytes() + int64(24*cap(b.passages)) + b.text.bytes() + int64(12*cap(b.textAt)) +
		int64(cap(b.out.ids))*(16+4+4+4+12+24) + int64(cap(b.documents.out.ids))*68 + int64(cap(b.titles))
	for _, v := range b.vectors {
		n += v.bytes()
	}
	return n
}

// add adds a document or its deletion. After an error the builder must not be used.
func (b *builder) add(e *index.Entry) error {
	if !e.Live || len(e.Passages) == 0 {
		b.deletions = append(b.deletions, deletion{e.Document, len(b.documents.out.ids)})
		return nil
	}
	a := attributesOf(e)
	b.addDocument(&a)
	for i := range e.Passages {
		p := &e.Passages[i]
		tokens, err := b.lexemes.read(p.Lexemes, &b.intern)
		if err != nil {
			return fmt.Errorf("passage %s: %w", p.ID, err)
		}
		passage := b.addPassage(p.ID, p.Ordinal, p.Words, tokens)
		if len(p.Vector) > 0 {
			b.vectorsOf(len(p.Vector)).add(passage, p.Vector)
		}
	}
	return b.checkSize()
}

func (b *builder) checkSize() error {
	if b.text.used > maxBytes/2 || len(b.titles) > maxBytes/2 || len(b.intern.blob) > maxBytes/2 || len(b.out.ids) > math.MaxInt32/2 {
		return ErrTooLarge
	}
	return nil
}

// addDocument adds a document. Its passages follow.
func (b *builder) addDocument(a *attributes) {
	b.documents.add(a)
	b.out.first = append(b.out.first, u32(len(b.out.ids)))
	b.title = nil
}

// addPassage adds the next passage of the last document and returns its number. The
// tokens have interned terms and are ordered by position.
func (b *builder) addPassage(id uuid.UUID, ordinal int32, words [index.FieldCount]int32, tokens []token) uint32 {
	p := u32(len(b.out.ids))
	document := u32(len(b.documents.out.ids) - 1)
	b.out.ids = append(b.out.ids, id)
	b.out.ordinals = append(b.out.ordinals, ordinal)
	b.out.documentOf = append(b.out.documentOf, document)
	b.out.bodyWords = append(b.out.bodyWords, words[index.FieldBody])
	b.out.words = append(b.out.words, [3]int32{words[index.FieldTitle], words[index.FieldHeading], words[index.FieldPath]})

	for len(b.passages) < len(b.intern.ends) {
		b.passages, b.total = append(b.passages, 0), append(b.total, 0)
		b.last, b.size = append(b.last, 0), append(b.size, 0)
		b.counts = append(b.counts, 0)
		b.hashes = append(b.hashes, index.HashTerm(b.intern.term(u32(len(b.hashes)))))
	}
	b.count(tokens)
	for _, t := range tokens {
		b.print.Add(b.hashes[t.term], t.position)
	}
	for _, t := range b.terms {
		if b.counts[t]&bodyMask != 0 {
			b.print.AddDistinct(b.hashes[t])
		}
		b.counts[t] = 0
		b.passages[t]++
		b.size[t] += varintSize(p-b.last[t]) + 1
		b.last[t] = p + 1
	}
	b.out.prints = append(b.out.prints, b.print.Sum())
	b.addText(p == b.out.first[document], tokens)
	return p
}

// count sets terms to the terms of tokens, and counts to their occurrences.
func (b *builder) count(tokens []token) {
	b.terms = b.terms[:0]
	for _, t := range tokens {
		if b.counts[t.term] == 0 {
			b.terms = append(b.terms, t.term)
		}
		b.counts[t.term] = b.counts[t.term].add(t.position)
	}
}

// addText codes the tokens of a passage. The title is stored once for all passages of
// the document that have it; first says that the passage is the document's first.
func (b *builder) addText(first bool, tokens []token) {
	n := titleTokens(tokens)
	if first {
		b.title = append(b.title[:0], tokens[:n]...)
		b.titleAt = append(b.titleAt, u32(len(b.titles)))
		b.titles = appendTokens(b.titles, b.title, 0)
	}
	b.buffer = b.buffer[:0]
	previous := uint16(0)
	if n > 0 && slices.Equal(tokens[:n], b.title) {
		b.buffer = append(b.buffer, titleCode)
		b.overhead++
		previous = tokens[n-1].position
		tokens = tokens[n:]
	}
	b.buffer = appendTokens(b.buffer, tokens, previous)
	for _, t := range tokens {
		b.total[t.term]++
		switch t.position - previous {
		case 0:
			b.overhead++
		case 1:
		default:
			b.overhead += 2
		}
		previous = t.position
	}
	b.textAt = append(b.textAt, b.text.add(b.buffer))
}

func (b *builder) vectorsOf(length int) *vectorBuilder {
	for _, v := range b.vectors {
		if v.out.length == length {
			return v
		}
	}
	v := newVectorBuilder(length)
	b.vectors = append(b.vectors, v)
	return v
}

// finish returns the segment. The builder must have a document. existing returns the
// quantizer of another segment for vectors of a length, nil for none.
func (b *builder) finish(existing func(length int) *quantizer) (*segment, error) {
	s := &b.out
	n := len(s.ids)
	s.documents = b.documents.finish()
	s.first = trim(append(s.first, u32(n)))
	s.ids, s.ordinals, s.documentOf = trim(s.ids), trim(s.ordinals), trim(s.documentOf)
	s.bodyWords, s.words, s.prints = trim(s.bodyWords), trim(s.words), trim(s.prints)
	for _, v := range b.vectors {
		if v.out.count() > 0 {
			s.vectors = append(s.vectors, v.finish(n, existing(v.out.length)))
		}
	}
	b.vectors = nil
	var numbers []uint32
	s.terms, numbers = newDictionary(&b.intern, b.passages)
	if err := b.post(numbers); err != nil {
		return nil, err
	}
	b.writeTitles(numbers)
	out := *s // a pointer into the builder would keep all of it in memory
	return &out, nil
}

// post writes the postings and the forward index, given the final numbers of the
// interned terms.
func (b *builder) post(numbers []uint32) error {
	s := &b.out
	terms := len(numbers)
	interned := make([]uint32, terms)
	forward := b.overhead
	for id, n := range numbers {
		interned[n] = u32(id)
		codes := int64(1)
		if n >= shortTerms {
			codes = 3
		}
		forward += int64(b.total[id]) * codes
	}
	s.postedAt = make([]uint32, terms+1)
	offset := int64(0)
	for n, id := range interned {
		s.postedAt[n] = u32(int(offset))
		offset += int64(b.size[id]) + int64(b.headBytes(id))
		if offset > maxBytes {
			return ErrTooLarge
		}
	}
	if forward > maxBytes {
		return ErrTooLarge
	}
	s.postedAt[terms] = u32(int(offset))
	s.posted = make([]byte, offset)
	s.forward = make([]uint16, 0, forward)
	s.forwardAt = make([]uint32, len(s.ids)+1)

	for id, n := range numbers {
		b.last[id], b.total[id] = 0, 0
		b.size[id] = s.postedAt[n] + b.headBytes(u32(id))
	}
	var tokens, title []token
	for p := range s.ids {
		document := s.documentOf[p]
		if u32(p) == s.first[document] {
			title = b.titleOf(title[:0], document)
		}
		text := b.text.get(b.textAt[p])
		tokens = tokens[:0]
		previous, hasTitle := uint16(0), len(text) > 0 && text[0] == titleCode
		if hasTitle {
			tokens = append(tokens, title...)
			previous = title[len(title)-1].position
			text = text[1:]
		}
		titleLength := len(tokens)
		tokens = decodeTokens(tokens, text, previous)
		b.count(tokens)
		for _, id := range b.terms {
			b.writePosting(id, numbers[id], u32(p))
		}
		for i := range tokens {
			tokens[i].term = numbers[tokens[i].term]
		}
		if hasTitle {
			s.forward = append(s.forward, titleCode)
		}
		s.forward = appendCodes(s.forward, tokens[titleLength:], previous)
		s.forwardAt[p+1] = u32(len(s.forward))
		b.text.freeBefore(b.textAt[p])
	}
	return nil
}

// headBytes returns the size of the heads of an interned term's postings.
func (b *builder) headBytes(id uint32) uint32 {
	if b.passages[id] <= blockSize {
		return 0
	}
	return headSize * ((b.passages[id] + blockSize - 1) / blockSize)
}

// writePosting writes the posting of an interned term in a passage and resets its
// occurrences.
func (b *builder) writePosting(id, term, passage uint32) {
	s := &b.out
	if b.total[id]%blockSize == 0 && b.passages[id] > blockSize {
		start := s.postedAt[term]
		head := s.posted[start+headSize*(b.total[id]/blockSize):]
		binary.LittleEndian.PutUint32(head, passage)
		binary.LittleEndian.PutUint32(head[4:], b.size[id]-start-b.headBytes(id))
	}
	to := s.posted[b.size[id]:b.size[id]]
	to = append(appendVarint(to, passage-b.last[id]), byte(b.counts[id]))
	b.size[id] += u32(len(to))
	b.last[id] = passage + 1
	b.total[id]++
	b.counts[id] = 0
}

// titleOf appends the tokens of a document's title.
func (b *builder) titleOf(tokens []token, document uint32) []token {
	end := u32(len(b.titles))
	if int(document)+1 < len(b.titleAt) {
		end = b.titleAt[document+1]
	}
	return decodeTokens(tokens, b.titles[b.titleAt[document]:end], 0)
}

// writeTitles writes the terms of the titles, given their final numbers.
func (b *builder) writeTitles(numbers []uint32) {
	s := &b.out
	s.titleAt = make([]uint32, len(b.titleAt)+1)
	var titles []uint16
	var tokens []token
	for d := range b.titleAt {
		tokens = b.titleOf(tokens[:0], u32(d))
		for i := range tokens {
			tokens[i].term = numbers[tokens[i].term]
		}
		titles = appendCodes(titles, tokens, 0)
		s.titleAt[d+1] = u32(len(titles))
	}
	s.titles = trim(titles)
}
