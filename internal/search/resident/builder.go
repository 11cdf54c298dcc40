package resident

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
)

// ErrTooLarge is returned for a collection that is more than an index, or a
// cache, can hold.
var ErrTooLarge = errors.New("the collection is too large to be kept in memory")

// mostBytes is how long each of a segment's pieces may be: places in them are
// numbers of 32 bits.
const mostBytes = math.MaxUint32 - 1<<20

// builder makes a segment of documents that come one after another. While it
// does, it keeps their terms in the order in which they came; what else it
// holds is as it will be.
type builder struct {
	out       segment
	documents documentBuilder
	gone      []gone
	vectors   []*vectorBuilder

	intern interner
	// Of each interned term: in how many passages it stands, how often in all,
	// the last of its passages and one more, and the size of its postings.
	passages, total, last, size []uint32

	text     chunks // coded terms of passages, see appendTokens
	textAt   []place
	titles   []byte // those of titles
	titleAt  []uint32
	overhead int64 // how many codes of passages are no terms

	entry  entryTokens
	counts []occurrences // of the passage at hand, by interned term
	found  []uint32      // terms of the passage at hand
	buffer []byte
	title  []token
}

// gone is a document that was there no more when so many had been told of.
type gone struct {
	id     uuid.UUID
	before int
}

func newBuilder() *builder { return &builder{intern: *newInterner()} }

// bytes is about how much memory the builder holds.
func (b *builder) bytes() int64 {
	n := b.intern.bytes() + int64(16*cap(b.passages)) + b.text.bytes() + int64(12*cap(b.textAt)) +
		int64(cap(b.out.ids))*(16+4+4+4+12) + int64(cap(b.documents.out.ids))*68 + int64(cap(b.titles))
	for _, v := range b.vectors {
		n += v.bytes()
	}
	return n
}

// add takes a document, or that one is gone. After an error the builder is of
// no use any more.
func (b *builder) add(e *index.Entry) error {
	if !e.Live || len(e.Passages) == 0 {
		b.gone = append(b.gone, gone{e.Document, len(b.documents.out.ids)})
		return nil
	}
	a := attributesOf(e)
	b.begin(&a)
	for i := range e.Passages {
		p := &e.Passages[i]
		tokens, err := b.entry.read(p.Lexemes, &b.intern)
		if err != nil {
			return fmt.Errorf("passage %s: %w", p.ID, err)
		}
		b.passage(p.ID, p.Ordinal, p.Words, tokens)
		if len(p.Vector) > 0 {
			b.vectorsOf(len(p.Vector)).add(b.newest(), p.Vector)
		}
	}
	return b.fits()
}

func (b *builder) fits() error {
	if b.text.used > mostBytes/2 || len(b.titles) > mostBytes/2 || len(b.intern.blob) > mostBytes/2 || len(b.out.ids) > math.MaxInt32/2 {
		return ErrTooLarge
	}
	return nil
}

// newest is the last passage.
func (b *builder) newest() uint32 { return number(len(b.out.ids) - 1) }

// begin starts a document.
func (b *builder) begin(a *attributes) {
	b.documents.add(a)
	b.out.first = append(b.out.first, number(len(b.out.ids)))
	b.title = nil
}

// passage takes the next passage of the document at hand with its interned
// terms by position.
func (b *builder) passage(id uuid.UUID, ordinal int32, words [index.FieldCount]int32, tokens []token) {
	p := number(len(b.out.ids))
	document := number(len(b.documents.out.ids) - 1)
	b.out.ids = append(b.out.ids, id)
	b.out.ordinals = append(b.out.ordinals, ordinal)
	b.out.documentOf = append(b.out.documentOf, document)
	b.out.bodyWords = append(b.out.bodyWords, words[index.FieldBody])
	b.out.words = append(b.out.words, [3]int32{words[index.FieldTitle], words[index.FieldHeading], words[index.FieldPath]})

	for len(b.passages) < len(b.intern.ends) {
		b.passages, b.total = append(b.passages, 0), append(b.total, 0)
		b.last, b.size = append(b.last, 0), append(b.size, 0)
		b.counts = append(b.counts, 0)
	}
	b.count(tokens)
	for _, t := range b.found {
		b.counts[t] = 0
		b.passages[t]++
		b.size[t] += codeSize(p-b.last[t]) + 1
		b.last[t] = p + 1
	}
	b.keep(p == b.out.first[document], tokens)
}

// count sets found to the terms of tokens and counts to their occurrences.
func (b *builder) count(tokens []token) {
	b.found = b.found[:0]
	for _, t := range tokens {
		if b.counts[t.term] == 0 {
			b.found = append(b.found, t.term)
		}
		b.counts[t.term] = b.counts[t.term].add(t.position)
	}
}

// keep codes the terms of a passage. The title is written once for all passages
// that share it.
func (b *builder) keep(first bool, tokens []token) {
	n := titleTokens(tokens)
	if first {
		b.title = append(b.title[:0], tokens[:n]...)
		b.titleAt = append(b.titleAt, number(len(b.titles)))
		b.titles = appendTokens(b.titles, b.title, 0)
	}
	b.buffer = b.buffer[:0]
	previous := uint16(0)
	if n > 0 && equalTokens(tokens[:n], b.title) {
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

func equalTokens(a, b []token) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
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

// finish returns the segment, nil when there is no document. near returns a
// coder of vectors of a length that other segments use, nil for none.
func (b *builder) finish(near func(length int) *coder) (*segment, error) {
	s := &b.out
	n := len(s.ids)
	if n == 0 {
		return nil, nil //nolint:nilnil // no documents are no segment
	}
	s.documents = b.documents.finish()
	s.first = exact(append(s.first, number(n)))
	s.ids, s.ordinals, s.documentOf = exact(s.ids), exact(s.ordinals), exact(s.documentOf)
	s.bodyWords, s.words = exact(s.bodyWords), exact(s.words)
	for _, v := range b.vectors {
		if v.out.count() > 0 {
			s.vectors = append(s.vectors, v.finish(n, near(v.out.length)))
		}
	}
	b.vectors = nil
	var numbers []uint32
	s.terms, numbers = newDictionary(&b.intern, b.passages)
	if err := b.post(numbers); err != nil {
		return nil, err
	}
	b.rewriteTitles(numbers)
	// A pointer into the builder would keep all of it.
	out := *s
	return &out, nil
}

// post writes the postings and the passages' terms under their final numbers.
func (b *builder) post(numbers []uint32) error {
	s := &b.out
	terms := len(numbers)
	interned := make([]uint32, terms)
	forward := b.overhead
	for id, n := range numbers {
		interned[n] = number(id)
		codes := int64(1)
		if n >= shortTerms {
			codes = 3
		}
		forward += int64(b.total[id]) * codes
	}
	s.postedAt = make([]uint32, terms+1)
	at := int64(0)
	for n, id := range interned {
		s.postedAt[n] = number(int(at))
		at += int64(b.size[id])
		if b.passages[id] > blockSize {
			at += headSize * int64((b.passages[id]+blockSize-1)/blockSize)
		}
		if at > mostBytes {
			return ErrTooLarge
		}
	}
	if forward > mostBytes {
		return ErrTooLarge
	}
	s.postedAt[terms] = number(int(at))
	s.posted = make([]byte, at)
	s.forward = make([]uint16, 0, forward)
	s.forwardAt = make([]uint32, len(s.ids)+1)

	// From here on last and size are where the next posting follows and is
	// written, total how many have been.
	for id, n := range numbers {
		b.last[id], b.total[id] = 0, 0
		b.size[id] = s.postedAt[n]
		if b.passages[id] > blockSize {
			b.size[id] += headSize * ((b.passages[id] + blockSize - 1) / blockSize)
		}
	}
	var tokens, title []token
	for p := range s.ids {
		document := s.documentOf[p]
		if number(p) == s.first[document] {
			title = b.titleOf(title[:0], document)
		}
		text := b.text.at(b.textAt[p])
		tokens = tokens[:0]
		previous, inherits := uint16(0), len(text) > 0 && text[0] == titleCode
		if inherits {
			tokens = append(tokens, title...)
			previous = title[len(title)-1].position
			text = text[1:]
		}
		own := len(tokens)
		tokens = appendDecoded(tokens, text, previous)
		b.count(tokens)
		for _, id := range b.found {
			b.write(id, numbers[id], number(p))
		}
		for i := range tokens {
			tokens[i].term = numbers[tokens[i].term]
		}
		if inherits {
			s.forward = append(s.forward, titleCode)
		}
		s.forward = appendTerms(s.forward, tokens[own:], previous)
		s.forwardAt[p+1] = number(len(s.forward))
		b.text.drop(b.textAt[p])
	}
	return nil
}

// write writes a posting of an interned term and forgets its occurrences.
func (b *builder) write(id, term, passage uint32) {
	s := &b.out
	if b.total[id]%blockSize == 0 && b.passages[id] > blockSize {
		from := s.postedAt[term]
		heads := headSize * ((b.passages[id] + blockSize - 1) / blockSize)
		head := s.posted[from+headSize*(b.total[id]/blockSize):]
		binary.LittleEndian.PutUint32(head, passage)
		binary.LittleEndian.PutUint32(head[4:], b.size[id]-from-heads)
	}
	to := s.posted[b.size[id]:b.size[id]]
	to = append(appendCode(to, passage-b.last[id]), byte(b.counts[id]))
	b.size[id] += number(len(to))
	b.last[id] = passage + 1
	b.total[id]++
	b.counts[id] = 0
}

func (b *builder) titleOf(tokens []token, document uint32) []token {
	end := number(len(b.titles))
	if int(document)+1 < len(b.titleAt) {
		end = b.titleAt[document+1]
	}
	return appendDecoded(tokens, b.titles[b.titleAt[document]:end], 0)
}

// rewriteTitles writes the titles' terms under their final numbers.
func (b *builder) rewriteTitles(numbers []uint32) {
	s := &b.out
	s.titleAt = make([]uint32, len(b.titleAt)+1)
	var titles []uint16
	var tokens []token
	for d := range b.titleAt {
		tokens = b.titleOf(tokens[:0], number(d))
		for i := range tokens {
			tokens[i].term = numbers[tokens[i].term]
		}
		titles = appendTerms(titles, tokens, 0)
		s.titleAt[d+1] = number(len(titles))
	}
	s.titles = exact(titles)
}
