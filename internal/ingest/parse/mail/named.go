package mail

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"time"
)

// namedProperty identifies a property whose id differs between files (MS-OXPROPS 1.3.2).
type namedProperty struct {
	set    string // the 16 bytes of its GUID
	number uint32
}

// GUIDs of property sets.
const (
	setAppointment = "\x02\x20\x06\x00\x00\x00\x00\x00\xC0\x00\x00\x00\x00\x00\x00\x46"
	setTask        = "\x03\x20\x06\x00\x00\x00\x00\x00\xC0\x00\x00\x00\x00\x00\x00\x46"
	setAddress     = "\x04\x20\x06\x00\x00\x00\x00\x00\xC0\x00\x00\x00\x00\x00\x00\x46"
)

// Streams of the named properties (MS-OXMSG 2.2.3), and limits.
const (
	namesOfSets    = "__nameid_version1.0/__substg1.0_00020102"
	namesOfEntries = "__nameid_version1.0/__substg1.0_00030102"
	maxNamed       = 20_000
	firstOwnSet    = 3 // the sets before it have no entry
)

// readNames reads the ids of the named properties.
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
			continue // a name, or an unknown set
		}
		m.named[namedProperty{set: string(sets[set*16 : (set+1)*16]), number: number}] = firstNamedProperty + id
	}
}

func (s *storage) namedID(set string, number uint32) uint16 {
	return s.message.named[namedProperty{set: set, number: number}]
}

// classFacts adds the main facts of appointments, tasks and contacts.
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
