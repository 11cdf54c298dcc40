package search

import (
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// hitCache remembers what is shown of passages. What it remembers of one counts
// until the collection has a change that searches must see. The changes of a sync
// that is still running are not among those: a passage keeps its text as long as
// it is there, and a search that still finds the version of before shows it, too.
// It holds two generations, and forgets the older one when the younger has its
// share; what is asked for again stays. The zero value remembers nothing.
type hitCache struct {
	budget int64 // bytes, roughly

	mutex      sync.Mutex
	young, old map[uuid.UUID]*kept
	bytes      int64 // of the young
	// Which passages of documents are among them, by ordinal.
	youngPlaces, oldPlaces map[uuid.UUID][]int32
}

// kept is a hit as it was read, with nothing in it of the search that read it.
type kept struct {
	workspace  uuid.UUID
	generation int64
	required   int64 // of the collection's state before it was read
	ordinal    int32
	hit        Hit
}

// get puts copies of those hits of a page into read that it has of this
// workspace, for the states of the collections, but for documents of which it has
// several versions: those are to be read anew as a whole. What a hit refers to is
// not to be changed.
func (c *hitCache) get(workspace uuid.UUID, states []index.State, page []rank.Ranked, read map[uuid.UUID]*Hit) {
	if c.budget <= 0 {
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	found := make([]*kept, len(page)) // nil where nothing is known
	for i := range page {
		id, state := page[i].Passage, &states[page[i].Part]
		if read[id] != nil {
			continue
		}
		k, young := c.young[id]
		if !young {
			k = c.old[id]
		}
		if k == nil || k.workspace != workspace || k.hit.Collection != state.Collection || k.generation != state.Generation || k.required != state.Required {
			continue
		}
		if !young {
			c.keep(k)
		}
		found[i] = k
	}
	for i := range page {
		if id := page[i].Passage; found[i] != nil && whole(page, found, read, i) {
			hit := found[i].hit
			hit.CollectionName = states[page[i].Part].Name
			read[id] = &hit
		}
	}
}

// whole tells that all passages on the page of the i-th one's document are known,
// of one version of it. Those that have been read do not matter.
func whole(page []rank.Ranked, found []*kept, read map[uuid.UUID]*Hit, i int) bool {
	for j := range page {
		if j == i || page[j].Document != page[i].Document {
			continue
		}
		switch {
		case found[j] != nil:
			if !found[j].hit.sameVersion(&found[i].hit) {
				return false
			}
		case read[page[j].Passage] == nil:
			return false
		}
	}
	return true
}

// sameVersion tells that two passages of a document say the same of it.
func (h *Hit) sameVersion(o *Hit) bool {
	address, _, _ := strings.Cut(h.URL, "#")
	other, _, _ := strings.Cut(o.URL, "#")
	return address == other && h.Title == o.Title && h.Section == o.Section && h.Version == o.Version && h.DocType == o.DocType &&
		h.Language == o.Language && h.UpdatedAt.Equal(o.UpdatedAt) && slices.Equal(h.Tags, o.Tags)
}

// put remembers what was just read of a page. The states must have been read before.
func (c *hitCache) put(workspace uuid.UUID, states []index.State, page []rank.Ranked, read map[uuid.UUID]*Hit) {
	if c.budget <= 0 {
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for i := range page {
		state := &states[page[i].Part]
		if h := read[page[i].Passage]; h != nil && h.Collection == state.Collection {
			c.keep(&kept{workspace, state.Generation, state.Required, page[i].Ordinal, *h})
		}
	}
}

// putAhead remembers passages of one collection, by their ordinals, that were read
// after its state.
func (c *hitCache) putAhead(workspace uuid.UUID, state *index.State, read []*Hit, ordinals []int32) {
	if c.budget <= 0 {
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for i, h := range read {
		c.keep(&kept{workspace, state.Generation, state.Required, ordinals[i], *h})
	}
}

// places are those passages of documents that it has or had, by ordinal, at most
// so many: documents repeat.
func (c *hitCache) places(documents []uuid.UUID, most int) (of []uuid.UUID, ordinals []int32) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, id := range documents {
		young := c.youngPlaces[id]
		for _, ordinal := range young {
			of, ordinals = append(of, id), append(ordinals, ordinal)
		}
		for _, ordinal := range c.oldPlaces[id] {
			if !slices.Contains(young, ordinal) {
				of, ordinals = append(of, id), append(ordinals, ordinal)
			}
		}
		if len(of) >= most {
			return of[:most], ordinals[:most]
		}
	}
	return of, ordinals
}

func (c *hitCache) keep(k *kept) {
	if before, known := c.young[k.hit.Passage]; known {
		c.bytes -= before.hit.bytes()
	} else if c.young == nil {
		c.young, c.youngPlaces = make(map[uuid.UUID]*kept), make(map[uuid.UUID][]int32)
	}
	c.young[k.hit.Passage] = k
	if places := c.youngPlaces[k.hit.Document]; !slices.Contains(places, k.ordinal) {
		c.youngPlaces[k.hit.Document] = append(places, k.ordinal)
	}
	if c.bytes += k.hit.bytes(); c.bytes > c.budget/2 {
		c.old, c.young, c.bytes = c.young, nil, 0
		c.oldPlaces, c.youngPlaces = c.youngPlaces, nil
	}
}

// bytes is roughly the memory that a hit takes.
func (h *Hit) bytes() int64 {
	n := 600 + len(h.Text) + len(h.Title) + len(h.URL) + len(h.Section) + len(h.Version) + len(h.DocType) + len(h.Source)
	for _, list := range [...][]string{h.Tags, h.Headings} {
		for _, s := range list {
			n += 16 + len(s)
		}
	}
	for key, value := range h.Metadata {
		n += 64 + len(key) + sizeOf(value)
	}
	return int64(n)
}

// sizeOf is roughly the memory that a decoded JSON value takes.
func sizeOf(value any) int {
	n := 16
	switch v := value.(type) {
	case string:
		n += len(v)
	case []any:
		for _, item := range v {
			n += sizeOf(item)
		}
	case map[string]any:
		for key, item := range v {
			n += 64 + len(key) + sizeOf(item)
		}
	}
	return n
}
