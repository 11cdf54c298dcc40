package resident

import (
	"github.com/google/uuid"
)

// segment is an immutable part of an index: documents, numbered from 0, and
// their passages, numbered so that those of a document follow one another by
// ordinal.
type segment struct {
	// Of each document.
	documents documents
	first     []uint32 // its first passage, then the number of all passages
	titles    []uint16 // coded terms
	titleAt   []uint32 // where its title starts, then the end

	// Of each passage.
	ids        []uuid.UUID
	ordinals   []int32
	documentOf []uint32
	bodyWords  []int32
	words      [][3]int32 // of the other fields
	forward    []uint16   // coded terms
	forwardAt  []uint32   // where they start, then the end

	terms    *dictionary
	posted   []byte
	postedAt []uint32 // where a term's postings start, then the end

	vectors []*vectors // of each length
}

func (s *segment) documentCount() int { return len(s.documents.ids) }
func (s *segment) passageCount() int  { return len(s.ids) }

// bytes is the memory that the segment holds.
func (s *segment) bytes() int64 {
	n := int64(2*len(s.titles)+2*len(s.forward)+len(s.posted)) +
		4*int64(len(s.first)+len(s.titleAt)+len(s.ordinals)+len(s.documentOf)+len(s.bodyWords)+len(s.forwardAt)+len(s.postedAt)) +
		int64(16*len(s.ids)+12*len(s.words)) +
		s.documents.bytes() + s.terms.bytes()
	for _, v := range s.vectors {
		n += v.bytes()
	}
	return n
}

// vectorsOf returns the vectors of a length, nil when there are none.
func (s *segment) vectorsOf(length int) *vectors {
	for _, v := range s.vectors {
		if v.length == length {
			return v
		}
	}
	return nil
}

// number is n as the short number of a document, passage, term or byte. Builders
// refuse what has more.
func number(n int) uint32 { return uint32(n) } //nolint:gosec // see the comment
