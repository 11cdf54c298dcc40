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

// documents are the attributes of a segment's documents in columns. Filters scan
// columns: with about ten passages to a document that costs less than the first word
// of a query, and needs no index of values.
type documents struct {
	ids  []uuid.UUID
	byID []uint32 // documents, ordered by id
	time []int64  // in microseconds, or unknownTime
	// values are the numbers in names of the facets with one value.
	values [rank.FacetTag][]uint32
	// The tags of document i are tag[tagAt[i]:tagAt[i+1]]. Both are nil if no document
	// has a tag.
	tagAt, tag []uint32
	// readerSet is the set of readers of each document; nil if none is restricted.
	readerSet []uint32
	// The readers in set i are reader[readerAt[i]:readerAt[i+1]], as numbers in
	// principals. Set everyone has no members. A viewer must also be among set
	// alsoSet[i], which is before i.
	readerAt, reader, alsoSet []uint32

	names      [rank.FacetCount]names
	principals names
}

const (
	unknownTime = math.MinInt64
	everyone    = 0 // the set of readers of an unrestricted document
)

// names are strings in rising order, numbered by their index.
type names []string

func (n names) find(name string) (uint32, bool) {
	i, ok := slices.BinarySearch(n, name)
	return u32(i), ok
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
	n += int64(4 * (len(d.tagAt) + len(d.tag) + len(d.readerSet) + len(d.readerAt) + len(d.reader) + len(d.alsoSet)))
	for _, v := range d.names {
		n += v.bytes()
	}
	return n + d.principals.bytes()
}

// find returns the documents with an id. There are several if a builder added versions
// of one document.
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

// attributes of a document.
type attributes struct {
	id     uuid.UUID
	values [rank.FacetTag]string
	tags   []string
	time   int64
	// A reader must be among both; nil for everyone.
	readers, restriction []string
}

func attributesOf(e *index.Entry) attributes {
	return attributes{
		id: e.Document, tags: e.Tags, readers: e.Readers, restriction: e.Restriction, time: micros(e.Time),
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

// attributes returns the attributes of a document.
func (d *documents) attributes(document uint32) attributes {
	a := attributes{id: d.ids[document], time: d.time[document]}
	for f := range a.values {
		a.values[f] = d.names[f][d.values[f][document]]
	}
	for _, t := range d.tagsOf(document) {
		a.tags = append(a.tags, d.names[rank.FacetTag][t])
	}
	if len(d.readerSet) > 0 && d.readerSet[document] != everyone {
		set := d.readerSet[document]
		a.readers = d.readersOf(set)
		if other := d.alsoSet[set]; other != everyone {
			a.restriction = d.readersOf(other)
		}
	}
	return a
}

// readersOf returns the readers in a set.
func (d *documents) readersOf(set uint32) []string {
	readers := []string{}
	for _, m := range d.reader[d.readerAt[set]:d.readerAt[set+1]] {
		readers = append(readers, d.principals[m])
	}
	return readers
}

// A nameBuilder numbers strings in the order in which they come.
type nameBuilder struct {
	numbers map[string]uint32
	list    names
}

func (b *nameBuilder) add(name string) uint32 {
	n, ok := b.numbers[name]
	if !ok {
		if b.numbers == nil {
			b.numbers = make(map[string]uint32)
		}
		name = strings.Clone(name) // entries are valid during a call only
		n = u32(len(b.list))
		b.numbers[name] = n
		b.list = append(b.list, name)
	}
	return n
}

// sorted returns the names, and the new number of each old one.
func (b *nameBuilder) sorted() (names, []uint32) {
	order := make([]uint32, len(b.list))
	for i := range order {
		order[i] = u32(i)
	}
	slices.SortFunc(order, func(x, y uint32) int { return cmp.Compare(b.list[x], b.list[y]) })
	list, newNumbers := make(names, len(order)), make([]uint32, len(order))
	for i, old := range order {
		list[i], newNumbers[old] = b.list[old], u32(i)
	}
	return list, newNumbers
}

// A documentBuilder collects the attributes of documents.
type documentBuilder struct {
	out        documents
	names      [rank.FacetCount]nameBuilder
	principals nameBuilder
	sets       map[string]uint32 // by the coded numbers of their readers
	row        []uint32
	key        []byte
}

func (b *documentBuilder) add(a *attributes) {
	d := &b.out
	d.ids = append(d.ids, a.id)
	d.time = append(d.time, a.time)
	for f, v := range a.values {
		d.values[f] = append(d.values[f], b.names[f].add(v))
	}
	d.tagAt = append(d.tagAt, u32(len(d.tag)))
	b.row = b.row[:0]
	for _, t := range a.tags {
		if t == "" {
			continue
		}
		if n := b.names[rank.FacetTag].add(t); !slices.Contains(b.row, n) {
			b.row = append(b.row, n)
		}
	}
	d.tag = append(d.tag, b.row...)
	d.readerSet = append(d.readerSet, b.addReaders(a.readers, b.addReaders(a.restriction, everyone)))
}

// addReaders returns the set of the readers, who must be in another set, too.
func (b *documentBuilder) addReaders(readers []string, other uint32) uint32 {
	if b.sets == nil {
		b.sets = make(map[string]uint32)
		b.out.readerAt, b.out.alsoSet = append(b.out.readerAt, 0), append(b.out.alsoSet, everyone) // everyone
	}
	if readers == nil {
		return other
	}
	b.row, b.key = b.row[:0], b.key[:0]
	for _, r := range readers {
		b.row = append(b.row, b.principals.add(r))
	}
	slices.Sort(b.row)
	b.row = slices.Compact(b.row)
	b.key = appendVarint(b.key, other)
	for _, n := range b.row {
		b.key = appendVarint(b.key, n)
	}
	if set, ok := b.sets[string(b.key)]; ok {
		return set
	}
	set := u32(len(b.out.readerAt))
	b.sets[string(b.key)] = set
	b.out.readerAt, b.out.alsoSet = append(b.out.readerAt, u32(len(b.out.reader))), append(b.out.alsoSet, other)
	b.out.reader = append(b.out.reader, b.row...)
	return set
}

// finish returns the columns, trimmed.
func (b *documentBuilder) finish() documents {
	d := b.out
	n := len(d.ids)
	d.ids, d.time = trim(d.ids), trim(d.time)
	for f := range d.values {
		var newNumbers []uint32
		d.names[f], newNumbers = b.names[f].sorted()
		d.values[f] = renumber(d.values[f], newNumbers)
	}
	var newNumbers []uint32
	d.names[rank.FacetTag], newNumbers = b.names[rank.FacetTag].sorted()
	if len(d.tag) == 0 {
		d.tagAt, d.tag = nil, nil
	} else {
		d.tagAt = trim(append(d.tagAt, u32(len(d.tag))))
		d.tag = renumber(d.tag, newNumbers)
	}
	d.principals, newNumbers = b.principals.sorted()
	if len(b.sets) == 0 {
		d.readerSet, d.readerAt, d.reader, d.alsoSet = nil, nil, nil, nil
	} else {
		d.readerSet = trim(d.readerSet)
		d.readerAt = trim(append(d.readerAt, u32(len(d.reader))))
		d.reader = renumber(d.reader, newNumbers)
		d.alsoSet = trim(d.alsoSet)
	}
	d.byID = make([]uint32, n)
	for i := range d.byID {
		d.byID[i] = u32(i)
	}
	slices.SortFunc(d.byID, func(x, y uint32) int {
		return cmp.Or(bytes.Compare(d.ids[x][:], d.ids[y][:]), cmp.Compare(x, y))
	})
	return d
}

func renumber(list, newNumbers []uint32) []uint32 {
	out := make([]uint32, len(list))
	for i, n := range list {
		out[i] = newNumbers[n]
	}
	return out
}

// trim returns the list without spare capacity.
func trim[T any](list []T) []T {
	if len(list) == cap(list) {
		return list
	}
	out := make([]T, len(list))
	copy(out, list)
	return out
}
