package cfb

import (
	"encoding/binary"
	"math"
	"strings"
	"unicode/utf16"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// maxDepth is how deep storages are nested. maxPaths is how long all paths may be together, which otherwise grow with
// the square of the file's size.
const (
	entrySize = 128
	maxDepth  = 64
	maxPaths  = 64 << 20
)

// Kinds of entries, and the mark of no entry (MS-CFB 2.6).
const (
	storageEntry = 1
	streamEntry  = 2
	rootEntry    = 5
	noEntry      = math.MaxUint32
)

// An entry is a storage or a stream in the directory.
type entry struct {
	name               string // in lower case
	kind               byte
	left, right, child uint32
	start              uint32
	size               int64
}

// readDirectory reads the entries and their paths.
func (f *File) readDirectory(start uint32) error {
	content, err := f.sectors.read(start, math.MaxInt64, f.budget)
	if err != nil {
		return err
	}
	f.entries = make([]entry, len(content)/entrySize)
	if len(f.entries) == 0 {
		return f.damaged("the directory of its storage cannot be found")
	}
	for i := range f.entries {
		f.entries[i] = readEntry(content[i*entrySize:(i+1)*entrySize], f.sectors.header.isLong)
	}
	return f.name()
}

func readEntry(content []byte, isLong bool) entry {
	le := binary.LittleEndian
	e := entry{
		kind: content[66], left: le.Uint32(content[68:]), right: le.Uint32(content[72:]), child: le.Uint32(content[76:]),
		start: le.Uint32(content[116:]), size: int64(le.Uint32(content[120:])),
	}
	if high := le.Uint32(content[124:]); isLong && high < 1<<31 {
		e.size |= int64(high) << 32
	}
	units := make([]uint16, 0, 32)
	for i := 0; i < min(int(le.Uint16(content[64:])), 64)&^1; i += 2 {
		unit := le.Uint16(content[i:])
		if unit == 0 {
			break
		}
		units = append(units, unit)
	}
	e.name = strings.ToLower(string(utf16.Decode(units)))
	return e
}

// A step is an entry to be visited.
type step struct {
	entry     uint32
	prefix    string
	depth     int
	hasTurned bool
}

// name gives streams their paths. It walks the trees of all storages without recursion, and does not rely on their
// order. If a tree is damaged, streams that it does not contain belong to the root.
func (f *File) name() error {
	visited := make([]bool, len(f.entries))
	visited[0] = true
	isDamaged, paths := f.entries[0].kind != rootEntry, 0
	stack := []step{{entry: f.entries[0].child, depth: 1}}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.entry == noEntry {
			stack = stack[:len(stack)-1]
			continue
		}
		if !top.hasTurned {
			if int64(top.entry) >= int64(len(f.entries)) || visited[top.entry] {
				isDamaged = true
				stack = stack[:len(stack)-1]
				continue
			}
			visited[top.entry], top.hasTurned = true, true
			stack = append(stack, step{entry: f.entries[top.entry].left, prefix: top.prefix, depth: top.depth})
			continue
		}
		at, e := *top, &f.entries[top.entry]
		stack[len(stack)-1] = step{entry: e.right, prefix: at.prefix, depth: at.depth}
		if paths += len(at.prefix) + len(e.name); paths > maxPaths {
			return &document.LimitError{Detail: "the names of the streams in the file are too long"}
		}
		switch {
		case e.kind == streamEntry:
			f.add(at.prefix+e.name, e)
		case e.kind == storageEntry && at.depth < maxDepth:
			stack = append(stack, step{entry: e.child, prefix: at.prefix + e.name + "/", depth: at.depth + 1})
		}
	}
	for i := range f.entries {
		if e := &f.entries[i]; isDamaged && !visited[i] && e.kind == streamEntry {
			f.add(e.name, e)
		}
	}
	return nil
}

func (f *File) add(path string, e *entry) {
	if _, taken := f.byPath[path]; taken || path == "" {
		return
	}
	f.byPath[path] = &stream{entry: e}
	f.names = append(f.names, path)
}
