package mail

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"time"
)

// namedProperty is a property whose id is the file's own choice: by its set and its number in it (MS-OXPROPS 1.3.2).
type namedProperty struct {
	set    string // the 16 bytes of its id
	number uint32
}

// Ids of sets of properties, as they stand in files.
const (
	setAppointment = "\x02\x20\x06\x00\x00\x00\x00\x00\xC0\x00\x00\x00\x00\x00\x00\x46"
	setTask        = "\x03\x20\x06\x00\x00\x00\x00\x00\xC0\x00\x00\x00\x00\x00\x00\x46"
	setAddress     = "\x04\x20\x06\x00\x00\x00\x00\x00\xC0\x00\x00\x00\x00\x00\x00\x46"
)

// Where the table of named properties stands (MS-OXMSG 2.2.3).
const (
	namesOfSets    = "__nameid_version1.0/__substg1.0_00020102"
	namesOfEntries = "__nameid_version1.0/__substg1.0_00030102"
	maxNamed       = 20_000
	firstOwnSet    = 3 // sets before that have no entry
)

// readNames reads which ids the named properties have in this file.
func (m *messageFile) readNames() {
	m.named = make(map[namedProperty]uint16)
	sets := m.read(namesOfSets)
	entries := m.read(namesOfEntries)
	for len(entries) >= 8 && len(m.named) < maxNamed {
		number := binary.LittleEndian.Uint32(entries)
		kind := binary.LittleEndian.Uint16(entries[4:])
		id := binary.LittleEndian.Uint16(entries[6:])
		entries = entries[8:]
		set := int(kind>>1) - firstOwnSet
		if kind&1 != 0 || set < 0 || (set+1)*16 > len(sets) {
			continue // a name, or a set that does not matter here
		}
		m.named[namedProperty{set: string(sets[set*16 : (set+1)*16]), number: number}] = firstNamedProperty + id
	}
}

func (s *storage) namedID(set string, number uint32) uint16 {
	return s.message.named[namedProperty{set: set, number: number}]
}

// classFacts adds what messages are about that are no mails: appointments, tasks and contacts.
func (l *letter) classFacts(s *storage, class string) {
	day := func(at time.Time) string {
		if at.IsZero() {
			return ""
		}
		return at.Format(dateLayout)
	}
	switch {
	case strings.HasPrefix(class, "ipm.appointment"), strings.HasPrefix(class, "ipm.schedule"):
		l.fact("Location", s.line(s.namedID(setAppointment, 0x8208)))
		l.fact("Start", day(s.time(s.namedID(setAppointment, 0x820D))))
		l.fact("End", day(s.time(s.namedID(setAppointment, 0x820E))))
	case strings.HasPrefix(class, "ipm.task"):
		l.fact("Start", day(s.time(s.namedID(setTask, 0x8104))))
		l.fact("Due", day(s.time(s.namedID(setTask, 0x8105))))
		value := s.fixed[s.namedID(setTask, 0x8102)]
		if done := math.Float64frombits(binary.LittleEndian.Uint64(value[:])); done > 0 && done <= 1 {
			l.fact("Done", strconv.Itoa(int(done*100))+" %")
		}
		l.fact("Owner", s.line(s.namedID(setTask, 0x811F)))
	case strings.HasPrefix(class, "ipm.contact"):
		l.fact("Name", s.line(propDisplayName))
		l.fact("Company", s.line(propCompany))
		l.fact("Department", s.line(propDepartment))
		l.fact("Title", s.line(propJobTitle))
		l.fact("Mail", s.line(s.namedID(setAddress, 0x8083)))
		l.fact("Phone", s.line(propBusinessPhone))
		l.fact("Mobile", s.line(propMobilePhone))
		l.fact("Home", s.line(propHomePhone))
		l.fact("Address", s.line(s.namedID(setAddress, 0x801B)))
	}
}
