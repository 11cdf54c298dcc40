package resident

import (
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
)

// A segment is an immutable part of an index: documents, numbered from 0, and their
// passages, numbered in the order of documents and ordinals.
type segment struct {
	// By document.
	documents documents
	first     []uint32 // first passage, then the number of all passages
	titles    []uint16 // coded terms
	titleAt   []uint32 // start of each title in titles, then the end

	// By passage.
	ids        []uuid.UUID
	ordinals   []int32
	documentOf []uint32
	bodyWords  []int32
	words      [][3]int32 // lengths of title, heading and path
	prints     []index.Fingerprint
	forward    []uint16 // coded terms
	forwardAt  []uint32 // start of each passage in forward, then the end

	// By term.
	terms    *dictionary
	posted   []byte
	postedAt []uint32 // start of the postings in posted, then the end

	vectors []*vectors // one set for each length
}

func (s *segment) documentCount() int { return len(s.documents.ids) }
func (s *segment) passageCount() int  { return len(s.ids) }

// bytes returns the memory that the segment holds.
func (s *segment) bytes() int64 {
	n := int64(2*len(s.titles)+2*len(s.forward)+len(s.posted)) +
		4*int64(len(s.first)+len(s.titleAt)+len(s.ordinals)+len(s.documentOf)+len(s.bodyWords)+len(s.forwardAt)+len(s.postedAt)) +
		int64(16*len(s.ids)+12*len(s.words)+24*len(s.prints)) +
		s.documents.bytes() + s.terms.bytes()
	for _, v := range s.vectors {
		n += v.bytes()
	}
	return n
}

// vectorsOf returns the vectors of a length, nil if there are none.
func (s *segment) vectorsOf(length int) *vectors {
	for _, v := range s.vectors {
		if v.length == length {
			return v
		}
	}
	return nil
}

// u32 converts the number of a document, passage, term or byte. Builders refuse
// segments with larger numbers.
func u32(n int) uint32 { return uint32(n) } //nolint:gosec // see the comment
