package resident

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// documents are the attributes of a segment's documents, a column each. A
// filter reads a column from end to end: there are about ten passages to a
// document, so that this costs less than the first word of a question, and
// nothing need be kept for each value.
type documents struct {
	ids  []uuid.UUID
	byID []uint32 // documents by their ids
	time []int64  // in microseconds, unknownTime when not known
	// values are the numbers of what every document has one of at most.
	values [rank.FacetTag][]uint32
	// tags of document i are tag[tagAt[i]:tagAt[i+1]]; empty when there are none at all.
	tagAt, tag []uint32
	// readers is the set of each document; empty when all are for everyone.
	readers []uint32
	// Members of set i are member[memberAt[i]:memberAt[i+1]]; set everyone has none and counts apart.
	memberAt, member []uint32

	names      [rank.FacetCount]names
	principals names
}

const (
	unknownTime = math.MinInt64
	everyone    = 0 // the set of readers of a document that all may find
)

// names are strings in rising order; their numbers are their places.
type names []string

func (n names) find(name string) (uint32, bool) {
	i, ok := slices.BinarySearch(n, name)
	return number(i), ok
}

func (n names) bytes() int64 {
	size := int64(16 * len(n))
	for _, s := range n {
		size += int64(len(s))
	}
	return size
}

func (d *documents) bytes() int64 {
	n := int64(16*len(d.ids) + 4*len(d.byID) + 8*len(d.time))
	for _, v := range d.values {
		n += int64(4 * len(v))
	}
	n += int64(4 * (len(d.tagAt) + len(d.tag) + len(d.readers) + len(d.memberAt) + len(d.member)))
	for _, v := range d.names {
		n += v.bytes()
	}
	return n + d.principals.bytes()
}

// find returns the documents with an id: one, but for a builder that was told
// of it more than once.
func (d *documents) find(id uuid.UUID) []uint32 {
	from := sort.Search(len(d.byID), func(i int) bool { return bytes.Compare(d.ids[d.byID[i]][:], id[:]) >= 0 })
	to := from
	for to < len(d.byID) && d.ids[d.byID[to]] == id {
		to++
	}
	return d.byID[from:to]
}

// tagsOf returns the numbers of a document's tags.
func (d *documents) tagsOf(document uint32) []uint32 {
	if len(d.tagAt) == 0 {
		return nil
	}
	return d.tag[d.tagAt[document]:d.tagAt[document+1]]
}

// attributes are what a builder is told of a document.
type attributes struct {
	id      uuid.UUID
	values  [rank.FacetTag]string
	tags    []string
	time    int64
	readers []string // nil: everyone
}

func attributesOf(e *index.Entry) attributes {
	return attributes{
		id: e.Document, tags: e.Tags, readers: e.Readers, time: micros(e.Time),
		values: [rank.FacetTag]string{
			rank.FacetSection: e.Section, rank.FacetVersion: e.Version,
			rank.FacetLanguage: e.Language, rank.FacetDocType: e.DocType,
			rank.FacetSource: e.Source, rank.FacetConnector: e.Connector,
		},
	}
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return unknownTime
	}
	return t.UnixMicro()
}

// attributesAt tells of a document as its builder was told.
func (d *documents) attributesAt(document uint32) attributes {
	a := attributes{id: d.ids[document], time: d.time[document]}
	for f := range a.values {
		a.values[f] = d.names[f][d.values[f][document]]
	}
	for _, t := range d.tagsOf(document) {
		a.tags = append(a.tags, d.names[rank.FacetTag][t])
	}
	if len(d.readers) > 0 && d.readers[document] != everyone {
		set := d.readers[document]
		a.readers = []string{}
		for _, m := range d.member[d.memberAt[set]:d.memberAt[set+1]] {
			a.readers = append(a.readers, d.principals[m])
		}
	}
	return a
}

// nameBuilder numbers strings in the order in which they come.
type nameBuilder struct {
	numbers map[string]uint32
	list    names
}

func (b *nameBuilder) number(name string) uint32 {
	n, ok := b.numbers[name]
	if !ok {
		if b.numbers == nil {
			b.numbers = make(map[string]uint32)
		}
		name = strings.Clone(name) // what an entry says is valid during the call only
		n = number(len(b.list))
		b.numbers[name] = n
		b.list = append(b.list, name)
	}
	return n
}

// sorted returns the names in order and the new number of each old one.
func (b *nameBuilder) sorted() (names, []uint32) {
	order := make([]uint32, len(b.list))
	for i := range order {
		order[i] = number(i)
	}
	slices.SortFunc(order, func(x, y uint32) int { return cmp.Compare(b.list[x], b.list[y]) })
	list, renumber := make(names, len(order)), make([]uint32, len(order))
	for i, old := range order {
		list[i], renumber[old] = b.list[old], number(i)
	}
	return list, renumber
}

// documentBuilder gathers documents' attributes.
type documentBuilder struct {
	out        documents
	names      [rank.FacetCount]nameBuilder
	principals nameBuilder
	sets       map[string]uint32 // by their members' numbers
	row        []uint32
	key        []byte
}

func (b *documentBuilder) add(a *attributes) {
	d := &b.out
	d.ids = append(d.ids, a.id)
	d.time = append(d.time, a.time)
	for f, v := range a.values {
		d.values[f] = append(d.values[f], b.names[f].number(v))
	}
	d.tagAt = append(d.tagAt, number(len(d.tag)))
	b.row = b.row[:0]
	for _, t := range a.tags {
		if t == "" {
			continue
		}
		if n := b.names[rank.FacetTag].number(t); !slices.Contains(b.row, n) {
			b.row = append(b.row, n)
		}
	}
	d.tag = append(d.tag, b.row...)
	d.readers = append(d.readers, b.set(a.readers))
}

func (b *documentBuilder) set(readers []string) uint32 {
	if b.sets == nil {
		b.sets = make(map[string]uint32)
		b.out.memberAt = append(b.out.memberAt, 0) // everyone
	}
	if readers == nil {
		return everyone
	}
	b.row, b.key = b.row[:0], b.key[:0]
	for _, r := range readers {
		b.row = append(b.row, b.principals.number(r))
	}
	slices.Sort(b.row)
	b.row = slices.Compact(b.row)
	for _, n := range b.row {
		b.key = appendCode(b.key, n)
	}
	if set, ok := b.sets[string(b.key)]; ok {
		return set
	}
	set := number(len(b.out.memberAt))
	b.sets[string(b.key)] = set
	b.out.memberAt = append(b.out.memberAt, number(len(b.out.member)))
	b.out.member = append(b.out.member, b.row...)
	return set
}

// finish returns the columns, each as large as it must be.
func (b *documentBuilder) finish() documents {
	d := b.out
	n := len(d.ids)
	d.ids, d.time = exact(d.ids), exact(d.time)
	for f := range d.values {
		var renumber []uint32
		d.names[f], renumber = b.names[f].sorted()
		d.values[f] = renumbered(d.values[f], renumber)
	}
	var renumber []uint32
	d.names[rank.FacetTag], renumber = b.names[rank.FacetTag].sorted()
	if len(d.tag) == 0 {
		d.tagAt, d.tag = nil, nil
	} else {
		d.tagAt = exact(append(d.tagAt, number(len(d.tag))))
		d.tag = renumbered(d.tag, renumber)
	}
	d.principals, renumber = b.principals.sorted()
	if len(b.sets) == 0 {
		d.readers, d.memberAt, d.member = nil, nil, nil
	} else {
		d.readers = exact(d.readers)
		d.memberAt = exact(append(d.memberAt, number(len(d.member))))
		d.member = renumbered(d.member, renumber)
	}
	d.byID = make([]uint32, n)
	for i := range d.byID {
		d.byID[i] = number(i)
	}
	slices.SortFunc(d.byID, func(x, y uint32) int {
		return cmp.Or(bytes.Compare(d.ids[x][:], d.ids[y][:]), cmp.Compare(x, y))
	})
	return d
}

func renumbered(list, renumber []uint32) []uint32 {
	out := make([]uint32, len(list))
	for i, n := range list {
		out[i] = renumber[n]
	}
	return out
}

// exact returns a copy without room to grow, unless there is none.
func exact[T any](list []T) []T {
	if len(list) == cap(list) {
		return list
	}
	out := make([]T, len(list))
	copy(out, list)
	return out
}
