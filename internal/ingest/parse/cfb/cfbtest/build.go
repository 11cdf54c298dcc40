package cfbtest

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
)

// A Stream is a stream to be written. Its path separates storages by slashes.
type Stream struct {
	Path    string
	Content []byte
}

// Marks of the format (MS-CFB 2.1 and 2.6).
const (
	difatSector = 0xFFFFFFFC
	fatSector   = 0xFFFFFFFD
	endOfChain  = 0xFFFFFFFE
	free        = 0xFFFFFFFF
)

type entry struct {
	name               string
	kind               byte
	left, right, child uint32
	start              uint32
	size               int
}

type builder struct {
	shift   int // 9 or 12
	fat     []uint32
	sectors []byte // without the header
}

// Build returns a compound file with sectors of 4,096 bytes if isLong is set, else of 512. The directory tree of a
// storage is a list in the order of the streams, in which readers cannot search.
func Build(isLong bool, streams ...Stream) []byte {
	b := &builder{shift: 9}
	if isLong {
		b.shift = 12
	}
	entries := []entry{{name: "Root Entry", kind: 5, left: free, right: free, child: free, start: endOfChain}}
	storages, last := map[string]uint32{"": 0}, map[uint32]uint32{}
	add := func(parent uint32, e entry) uint32 {
		at := u32(len(entries))
		entries = append(entries, e)
		if before, found := last[parent]; found {
			entries[before].right = at
		} else {
			entries[parent].child = at
		}
		last[parent] = at
		return at
	}
	var mini []byte
	var miniFAT []uint32
	for _, s := range streams {
		parent, path, rest := uint32(0), "", s.Path
		for {
			name, below, found := strings.Cut(rest, "/")
			if !found {
				break
			}
			path, rest = path+name+"/", below
			at, made := storages[path]
			if !made {
				at = add(parent, entry{name: name, kind: 1, left: free, right: free, child: free})
				storages[path] = at
			}
			parent = at
		}
		e := entry{name: rest, kind: 2, left: free, right: free, child: free, start: endOfChain, size: len(s.Content)}
		switch {
		case len(s.Content) >= 4096:
			e.start = b.put(s.Content)
		case len(s.Content) > 0:
			e.start = u32(len(miniFAT))
			for range (len(s.Content)+63)/64 - 1 {
				miniFAT = append(miniFAT, u32(len(miniFAT)+1))
			}
			miniFAT = append(miniFAT, endOfChain)
			mini = append(mini, s.Content...)
			mini = append(mini, make([]byte, len(miniFAT)*64-len(mini))...)
		}
		add(parent, e)
	}
	miniStart := uint32(endOfChain)
	if len(mini) > 0 {
		entries[0].start, entries[0].size = b.put(mini), len(mini)
		miniStart = b.put(words(miniFAT))
	}
	return b.finish(b.put(directory(entries, 1<<b.shift)), miniStart)
}

// put writes content into consecutive sectors and returns the first.
func (b *builder) put(content []byte) uint32 {
	first := u32(len(b.fat))
	count := (len(content) + 1<<b.shift - 1) >> b.shift
	for i := range count {
		next := uint32(endOfChain)
		if i+1 < count {
			next = u32(len(b.fat) + 1)
		}
		b.fat = append(b.fat, next)
	}
	b.sectors = append(b.sectors, content...)
	b.sectors = append(b.sectors, make([]byte, len(b.fat)<<b.shift-len(b.sectors))...)
	return first
}

func directory(entries []entry, sector int) []byte {
	le := binary.LittleEndian
	var out []byte
	for _, e := range entries {
		record := make([]byte, 128)
		units := utf16.Encode([]rune(e.name))
		for i, unit := range units {
			le.PutUint16(record[2*i:], unit)
		}
		record[64] = byte(2*len(units) + 2) //nolint:gosec // at most 64
		record[66], record[67] = e.kind, 1
		le.PutUint32(record[68:], e.left)
		le.PutUint32(record[72:], e.right)
		le.PutUint32(record[76:], e.child)
		le.PutUint32(record[116:], e.start)
		le.PutUint32(record[120:], u32(e.size))
		out = append(out, record...)
	}
	for len(out)%sector != 0 {
		record := make([]byte, 128)
		le.PutUint32(record[68:], free)
		le.PutUint32(record[72:], free)
		le.PutUint32(record[76:], free)
		out = append(out, record...)
	}
	return out
}

// finish writes the allocation table, the lists of its sectors, and the header.
func (b *builder) finish(directoryStart, miniStart uint32) []byte {
	perSector := 1 << (b.shift - 2)
	data := len(b.fat)
	tables, lists := 0, 0
	for tables*perSector < data+tables+lists {
		tables++
		lists = max(0, (tables-109+perSector-2)/(perSector-1))
	}
	var places []uint32
	for i := range tables {
		places = append(places, u32(data+i))
		b.fat = append(b.fat, fatSector)
	}
	for range lists {
		b.fat = append(b.fat, difatSector)
	}
	for len(b.fat)%perSector != 0 {
		b.fat = append(b.fat, free)
	}
	b.sectors = append(b.sectors, words(b.fat)...)
	head := make([]byte, 1<<b.shift)
	le := binary.LittleEndian
	copy(head, "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1")
	le.PutUint16(head[24:], 0x3E)
	le.PutUint16(head[26:], 3)
	if b.shift == 12 {
		le.PutUint16(head[26:], 4)
	}
	le.PutUint16(head[28:], 0xFFFE)
	head[30] = byte(b.shift) //nolint:gosec // 9 or 12
	le.PutUint16(head[32:], 6)
	le.PutUint32(head[44:], u32(tables))
	le.PutUint32(head[48:], directoryStart)
	le.PutUint32(head[56:], 4096)
	le.PutUint32(head[60:], miniStart)
	le.PutUint32(head[68:], endOfChain)
	le.PutUint32(head[72:], u32(lists))
	for i := range 109 {
		place := uint32(free)
		if i < len(places) {
			place = places[i]
		}
		le.PutUint32(head[76+4*i:], place)
	}
	if lists > 0 {
		le.PutUint32(head[68:], u32(data+tables))
		for i := range lists {
			list := make([]uint32, perSector)
			for j := range list {
				list[j] = free
			}
			from := 109 + i*(perSector-1)
			copy(list, places[from:min(from+perSector-1, len(places))])
			list[perSector-1] = u32(data + tables + i + 1)
			if i == lists-1 {
				list[perSector-1] = endOfChain
			}
			b.sectors = append(b.sectors, words(list)...)
		}
	}
	return append(head, b.sectors...)
}

func u32(n int) uint32 { return uint32(n) } //nolint:gosec // the files of tests are small

func words(values []uint32) []byte {
	out := make([]byte, 0, 4*len(values))
	for _, v := range values {
		out = binary.LittleEndian.AppendUint32(out, v)
	}
	return out
}
