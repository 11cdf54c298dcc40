package cfb

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// Marks in allocation tables (MS-CFB 2.1). All above maxSector end a chain.
const (
	maxSector  = 0xFFFFFFFA
	endOfChain = 0xFFFFFFFE
)

// Fixed sizes of the format (MS-CFB 2.2): of the header, of a short sector as a power of 2, and of the shortest stream
// in normal sectors.
const (
	headerSize = 512
	miniShift  = 6
	miniCutoff = 4096
)

// header is the header of a file (MS-CFB 2.2).
type header struct {
	shift      uint
	isLong     bool // version 4, whose streams may have more than 4 GiB
	directory  uint32
	miniTable  uint32
	tables     []uint32 // sectors of the allocation table that the header lists
	nextTables uint32   // sector that lists further ones
}

func readHeader(content []byte) (header, error) {
	if len(content) < headerSize {
		return header{}, errTooShort
	}
	if !bytes.HasPrefix(content, []byte(Magic)) {
		return header{}, errors.New("it does not begin as a compound file")
	}
	le := binary.LittleEndian
	h := header{
		shift: uint(le.Uint16(content[30:])), isLong: le.Uint16(content[26:]) >= 4,
		directory: le.Uint32(content[48:]), miniTable: le.Uint32(content[60:]), nextTables: le.Uint32(content[68:]),
	}
	if h.shift != 9 && h.shift != 12 {
		return header{}, errors.New("the sector size of its storage is none there is")
	}
	for at := 76; at < headerSize; at += 4 {
		h.tables = append(h.tables, le.Uint32(content[at:]))
	}
	return h, nil
}

// sectors are the sectors of a file and the allocation table that chains them.
type sectors struct {
	content []byte // without the header
	header  header
	count   uint32 // of sectors, of which the last may be truncated
	next    []uint32
	// seen holds for each sector the last walk that visited it. No walk passes a sector twice.
	seen []uint32
	walk uint32
}

func newSectors(content []byte, head header) sectors {
	size := 1 << head.shift
	content = content[min(size, len(content)):]
	s := sectors{content: content, header: head}
	s.count = uint32(min((len(content)+size-1)>>head.shift, maxSector)) //nolint:gosec // bounded
	s.seen = make([]uint32, s.count)
	s.next = s.readTable()
	return s
}

// sector returns a sector. It is shorter if the file ends in it, and empty if it does not exist.
func (s *sectors) sector(n uint32) []byte {
	if n >= s.count {
		return nil
	}
	start := int(n) << s.header.shift
	return s.content[start:min(start+1<<s.header.shift, len(s.content))]
}

// readTable reads the allocation table. If a sector of the table is missing, its sectors are assumed to follow each
// other, as most do.
func (s *sectors) readTable() []uint32 {
	table := make([]uint32, 0, s.count)
	perSector := 1 << (s.header.shift - 2)
	add := func(sector uint32) bool {
		content := s.sector(sector)
		for i := range perSector {
			at := uint32(len(table)) //nolint:gosec // at most count
			if at == s.count {
				return false
			}
			if i*4+4 <= len(content) {
				table = append(table, binary.LittleEndian.Uint32(content[i*4:]))
			} else {
				table = append(table, at+1)
			}
		}
		return true
	}
	for _, sector := range s.header.tables {
		if !add(sector) {
			return table
		}
	}
	s.walk++
	for at := s.header.nextTables; at < s.count && s.seen[at] != s.walk; {
		s.seen[at] = s.walk
		list := s.sector(at)
		at = endOfChain
		for i := range perSector {
			switch {
			case i*4+4 > len(list):
				return table
			case i == perSector-1:
				at = binary.LittleEndian.Uint32(list[i*4:])
			case !add(binary.LittleEndian.Uint32(list[i*4:])):
				return table
			}
		}
	}
	return table
}

// chain returns the sectors of a chain, at most as many as size bytes need. It ends before a sector that it contains.
func (s *sectors) chain(start uint32, size int64) []uint32 {
	length := min((size+1<<s.header.shift-1)>>s.header.shift, int64(s.count))
	var chain []uint32
	s.walk++
	for at := start; int64(len(chain)) < length && at < s.count && s.seen[at] != s.walk; {
		s.seen[at] = s.walk
		chain = append(chain, at)
		if int(at) >= len(s.next) {
			break
		}
		at = s.next[at]
	}
	return chain
}

// read returns size bytes of a chain, or as many as there are. Contiguous bytes are not copied.
func (s *sectors) read(start uint32, size int64, budget *document.Budget) ([]byte, error) {
	size = min(size, int64(s.count)<<s.header.shift)
	chain := s.chain(start, size)
	size = min(size, int64(len(chain))<<s.header.shift)
	if err := budget.Spend(size); err != nil || len(chain) == 0 {
		return nil, err
	}
	isContiguous := true
	for i, sector := range chain {
		isContiguous = isContiguous && sector == chain[0]+uint32(i)
	}
	if isContiguous {
		first := int(chain[0]) << s.header.shift
		last := min(first+int(size), len(s.content))
		return s.content[first:last:last], nil
	}
	content := make([]byte, 0, len(chain)<<s.header.shift)
	for i, sector := range chain {
		content = append(content, s.sector(sector)...)
		if short := (i+1)<<s.header.shift - len(content); short > 0 && i < len(chain)-1 {
			content = append(content, make([]byte, short)...) // the file ends within the stream
		}
	}
	return content[:min(int(size), len(content))], nil
}

// miniSectors are the short sectors, which a stream contains.
type miniSectors struct {
	sectors
}

// readMini returns size bytes of a short stream, or as many as there are.
func (f *File) readMini(start uint32, size int64) ([]byte, error) {
	if f.mini == nil {
		mini, err := f.openMini()
		if err != nil {
			return nil, err
		}
		f.mini = mini
	}
	return f.mini.read(start, size, f.budget)
}

func (f *File) openMini() (*miniSectors, error) {
	root := &f.entries[0]
	content, err := f.sectors.read(root.start, root.size, f.budget)
	if err != nil {
		return nil, err
	}
	count := (len(content) + 1<<miniShift - 1) >> miniShift
	table, err := f.sectors.read(f.sectors.header.miniTable, int64(count)*4, f.budget)
	if err != nil {
		return nil, err
	}
	m := &miniSectors{sectors{content: content, header: header{shift: miniShift}, count: uint32(count)}} //nolint:gosec // bounded
	m.seen = make([]uint32, count)
	m.next = make([]uint32, 0, count)
	for i := range uint32(count) { //nolint:gosec // bounded
		if at := int(i) * 4; at+4 <= len(table) {
			m.next = append(m.next, binary.LittleEndian.Uint32(table[at:]))
		} else {
			m.next = append(m.next, i+1)
		}
	}
	return m, nil
}
