package project

import (
	"fmt"
	"iter"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/engine"
)

// A batch gathers the objects of documents.
type batch struct {
	change     int64 // up to which the documents are current
	dimensions int   // of the vectors of the class
	objects    []engine.Object
	documents  []uuid.UUID          // that were added, the dead ones too
	refused    map[uuid.UUID]string // why passages are, once the batch was sent
}

// add adds a document.
func (b *batch) add(e *index.Entry) (err error) {
	b.documents = append(b.documents, e.Document)
	from := len(b.objects)
	if b.objects, err = engine.AppendObjects(b.objects, e, b.change); err != nil {
		return fmt.Errorf("document %s: %w", e.Document, err)
	}
	for i := range b.objects[from:] {
		// A vector of another length is of an earlier version of the model.
		if o := &b.objects[from+i]; len(o.Vector) != b.dimensions {
			o.Vector = nil
		}
	}
	return nil
}

// passages returns the passages of the batch that are not refused.
func (b *batch) passages() []uuid.UUID {
	ids := make([]uuid.UUID, 0, len(b.objects))
	for i := range b.objects {
		if _, refused := b.refused[b.objects[i].Passage]; !refused {
			ids = append(ids, b.objects[i].Passage)
		}
	}
	return ids
}

// parts yields the objects in lists of at most so many bytes, or of one object.
func (b *batch) parts(limit int) iter.Seq[[]engine.Object] {
	return func(yield func([]engine.Object) bool) {
		from, size := 0, 0
		for i := range b.objects {
			n := sizeOf(&b.objects[i])
			if i > from && size+n > limit {
				if !yield(b.objects[from:i:i]) {
					return
				}
				from, size = i, 0
			}
			size += n
		}
		if from < len(b.objects) {
			yield(b.objects[from:])
		}
	}
}

// fixedBytes is the approximate size of an object without its lists.
const fixedBytes = 200

// sizeOf returns the approximate size of an object on its way, in bytes.
func sizeOf(o *engine.Object) int {
	n := fixedBytes + 4*len(o.Vector)
	for _, terms := range o.Fields {
		for _, term := range terms {
			n += len(term) + 1
		}
	}
	for _, values := range o.Values {
		for _, value := range values {
			n += len(value) + 1
		}
	}
	for _, list := range [][]string{o.Readers, o.Restriction} {
		for _, name := range list {
			n += len(name) + 1
		}
	}
	return n
}
