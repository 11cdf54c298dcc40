package index

import (
	"cmp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/magpie-search/magpie/internal/analysis"
)

// Field is the part of a passage that a word stands in.
type Field uint8

// The fields. Each has its own range of positions in a passage's lexemes, so
// that one tsvector tells how often a word stands in which field.
const (
	FieldTitle   Field = iota // the document's title
	FieldHeading              // the passage's own heading
	FieldPath                 // the headings above it
	FieldBody
	FieldCount
)

// PostgreSQL's limits on a tsvector: positions run from 1 to maxPosition, a
// lexeme has at most maxOccurrences of them, and all words together stay
// below 1 MB, of which maxLexemeBytes leaves room for the positions.
const (
	maxPosition    = 16383
	maxOccurrences = 255
	maxWordBytes   = 2046
	maxLexemeBytes = 512 << 10
)

// first is the first position of each field, and one past the last of the body.
var first = [FieldCount + 1]uint16{1, 256, 512, 1024, maxPosition + 1}

// FieldOf returns the field that a position of a stored lexeme belongs to.
func FieldOf(position uint16) Field {
	switch {
	case position < first[FieldHeading]:
		return FieldTitle
	case position < first[FieldPath]:
		return FieldHeading
	case position < first[FieldBody]:
		return FieldPath
	default:
		return FieldBody
	}
}

// terms of one passage, as they are stored.
type terms struct {
	vector pgtype.TSVector
	words  [FieldCount]int32
}

// occurrence is a term at a position.
type occurrence struct {
	term string
	// start are the first eight bytes of the term as a number, by which most terms are
	// told apart. Zeros follow a shorter term; no term has one.
	start    uint64
	position uint16
}

func compareOccurrences(x, y occurrence) int {
	if x.start != y.start {
		return cmp.Compare(x.start, y.start)
	}
	if len(x.term) > 8 || len(y.term) > 8 {
		if c := strings.Compare(x.term, y.term); c != 0 {
			return c
		}
	}
	return cmp.Compare(x.position, y.position)
}

func startOf(term string) (start uint64) {
	for i := range min(len(term), 8) {
		start |= uint64(term[i]) << (56 - 8*i)
	}
	return start
}

// termBuilder turns the passages of one document into terms. It keeps its
// buffers and what it knows about the title, which all passages share, and about the
// headings of the passage before, which the next one often has, too.
type termBuilder struct {
	analyzer   *analysis.Analyzer
	language   string
	tokens     []analysis.Token
	found      []occurrence
	title      []occurrence
	titleWords int32
	own, path  heading
}

// A heading is a field above the body of a passage, with its terms.
type heading struct {
	text  string
	found []occurrence
	words int32
}

func newTermBuilder(a *analysis.Analyzer, title, language string) *termBuilder {
	b := &termBuilder{analyzer: a, language: language}
	b.add(FieldTitle, title)
	b.title = slices.Clone(b.found)
	b.titleWords = b.contentWords(title)
	return b
}

// IsStub reports whether the field lengths of a passage mark it as a stub ([passage.Passage.Stub]): that of the path is
// negative. No score depends on the length of a path.
func IsStub(words *[FieldCount]int32) bool { return words[FieldPath] < 0 }

// build returns the terms of a passage under the given headings, outermost first.
func (b *termBuilder) build(headings []string, body string, stub bool) terms {
	b.found = append(b.found[:0], b.title...)
	out := terms{words: [FieldCount]int32{FieldTitle: b.titleWords}}
	if n := len(headings); n > 0 {
		out.words[FieldHeading] = b.addHeading(&b.own, FieldHeading, headings[n-1])
		out.words[FieldPath] = b.addHeading(&b.path, FieldPath, strings.Join(headings[:n-1], "\n"))
	}
	if stub {
		out.words[FieldPath] = -1 - out.words[FieldPath]
	}
	out.words[FieldBody] = b.add(FieldBody, body)
	out.vector = b.vector()
	return out
}

// addHeading appends the terms of a field above the body and returns its length. A text
// that is the one before is not read again.
func (b *termBuilder) addHeading(h *heading, field Field, text string) int32 {
	if text == "" {
		return 0
	}
	if text == h.text {
		b.found = append(b.found, h.found...)
		return h.words
	}
	from := len(b.found)
	h.text, h.words = text, b.add(field, text)
	if field == FieldHeading {
		h.words = b.contentWords(text)
	}
	h.found = append(h.found[:0], b.found[from:]...)
	return h.words
}

// add appends the terms of a field and returns how many words it has. Words
// beyond the field's positions share the last one, so a term counts there once.
func (b *termBuilder) add(field Field, text string) int32 {
	b.tokens = b.analyzer.AppendTokens(b.tokens[:0], text, b.language)
	low, high := int(first[field]), int(first[field+1])-1
	words := 0
	for _, t := range b.tokens {
		if len(t.Term) > maxWordBytes {
			continue
		}
		b.found = append(b.found, occurrence{t.Term, startOf(t.Term), uint16(min(low+t.Position, high))}) //nolint:gosec // at most maxPosition
		words = max(words, t.Position+1)
	}
	return int32(min(words, 1<<30))
}

// contentWords counts the words of a heading that a query for it would have.
func (b *termBuilder) contentWords(heading string) int32 {
	words, stops := b.analyzer.CountWords(heading, b.language)
	if stops == words {
		stops = 0
	}
	return int32(min(words-stops, 1<<30)) //nolint:gosec // it fits, and stops are some of the words
}

// vector sorts what was found into lexemes.
func (b *termBuilder) vector() pgtype.TSVector {
	slices.SortFunc(b.found, compareOccurrences)
	positions := make([]pgtype.TSVectorPosition, 0, len(b.found))
	lexemes := make([]pgtype.TSVectorLexeme, 0, len(b.found)/2+1)
	size := 0
	for i := 0; i < len(b.found); {
		term, from := b.found[i].term, len(positions)
		last := uint16(0)
		for ; i < len(b.found) && b.found[i].term == term; i++ {
			p := b.found[i].position
			if p != last && len(positions)-from < maxOccurrences {
				positions = append(positions, pgtype.TSVectorPosition{Position: p, Weight: label(FieldOf(p))})
			}
			last = p
		}
		if size += len(term) + 2*(len(positions)-from) + 8; size > maxLexemeBytes {
			break
		}
		lexemes = append(lexemes, pgtype.TSVectorLexeme{Word: term, Positions: positions[from:len(positions):len(positions)]})
	}
	return pgtype.TSVector{Lexemes: lexemes, Valid: true}
}

func label(f Field) pgtype.TSVectorWeight {
	switch f {
	case FieldTitle:
		return pgtype.TSVectorWeightA
	case FieldHeading, FieldPath:
		return pgtype.TSVectorWeightB
	default:
		return pgtype.TSVectorWeightD
	}
}
