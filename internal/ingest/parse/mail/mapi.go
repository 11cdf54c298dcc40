package mail

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/cfb"
)

// Properties of messages, recipients and attachments (MS-OXPROPS).
const (
	propMessageClass      = 0x001A
	propSubject           = 0x0037
	propSubmitTime        = 0x0039
	propSubjectPrefix     = 0x003D
	propRepresentingName  = 0x0042
	propRepresentingMail  = 0x0065
	propTopic             = 0x0070
	propTransportHeaders  = 0x007D
	propRecipientType     = 0x0C15
	propSenderName        = 0x0C1A
	propSenderMail        = 0x0C1F
	propDisplayCc         = 0x0E03
	propDisplayTo         = 0x0E04
	propDeliveryTime      = 0x0E06
	propNormalizedSubject = 0x0E1D
	propBody              = 0x1000
	propReportText        = 0x1001
	propRTF               = 0x1009
	propHTML              = 0x1013
	propMessageID         = 0x1035
	propInReplyTo         = 0x1042
	propDisplayName       = 0x3001
	propMail              = 0x3003
	propCreationTime      = 0x3007
	propAttachData        = 0x3701
	propAttachName        = 0x3704
	propAttachMethod      = 0x3705
	propAttachLongName    = 0x3707
	propAttachMediaType   = 0x370E
	propAttachContentID   = 0x3712
	propAttachFlags       = 0x3714
	propSMTP              = 0x39FE
	propBusinessPhone     = 0x3A08
	propHomePhone         = 0x3A09
	propCompany           = 0x3A16
	propJobTitle          = 0x3A17
	propDepartment        = 0x3A18
	propMobilePhone       = 0x3A1C
	propInternetCodePage  = 0x3FDE
	propLocale            = 0x3FF1
	propMessageCodePage   = 0x3FFD
	propSenderSMTP        = 0x5D01
	propRepresentingSMTP  = 0x5D02
	propAttachHidden      = 0x7FFE
	firstNamedProperty    = 0x8000
)

// Values of properties.
const (
	attachMethodByValue = 1
	attachMethodMessage = 5
	attachMethodOLE     = 6
	attachFlagInPage    = 4
	recipientTo         = 1
	recipientCc         = 2
)

// Storage of properties (MS-OXMSG 2.1 and 2.4).
const (
	typeBytes      = "0102" // at the end of a stream's name
	typeUnicode    = "001f"
	typeText       = "001e"
	propertyEntry  = 16 // bytes
	headOfMessage  = 32 // bytes before the properties of the outermost message
	headOfEmbedded = 24 // of an attached message
	headOfPart     = 8  // of a recipient or attachment
)

const (
	defaultCodePage = 1252
	// maxProperties is how many properties of a storage are read.
	maxProperties = 10_000
)

// messageFile is an open Outlook file.
type messageFile struct {
	file *cfb.File
	// folders are the storages in each storage, in order.
	folders map[string][]string
	named   map[namedProperty]uint16
	err     error // the budget is spent
}

// openMessage opens a file. Errors are those of cfb.Open.
func openMessage(in document.Source) (*messageFile, error) {
	file, err := cfb.Open(in.Content, outlookName, in.Budget)
	if err != nil {
		return nil, err
	}
	m := &messageFile{file: file, folders: make(map[string][]string)}
	known := make(map[string]bool)
	for _, name := range file.Names() {
		folder, _, found := cutLast(name)
		for found && !known[folder] {
			known[folder] = true
			parent, _, more := cutLast(folder)
			m.folders[parent] = append(m.folders[parent], folder)
			folder, found = parent, more
		}
	}
	for _, folders := range m.folders {
		slices.Sort(folders) // they are numbered
	}
	return m, nil
}

// cutLast splits a path before its last name.
func cutLast(path string) (folder, name string, found bool) {
	at := strings.LastIndexByte(path, '/')
	if at < 0 {
		return "", path, false
	}
	return path[:at], path[at+1:], true
}

// read returns a stream, nil if it is unreadable.
func (m *messageFile) read(path string) []byte {
	if m.err != nil || !m.file.Has(path) {
		return nil
	}
	content, err := m.file.Read(path)
	if limit := (*document.LimitError)(nil); errors.As(err, &limit) {
		m.err = err
	}
	return content
}

// storage holds the properties of a message, recipient or attachment.
type storage struct {
	message *messageFile
	path    string
	fixed   map[uint16][8]byte
	page    int // code page of texts that are not in Unicode
}

// open reads the properties of a storage, "" for that of the file.
func (m *messageFile) open(path string, head, page int) *storage {
	s := &storage{message: m, path: path, fixed: make(map[uint16][8]byte), page: page}
	data := m.read(s.join("__properties_version1.0"))
	data = data[min(head, len(data)):]
	for len(data) >= propertyEntry && len(s.fixed) < maxProperties {
		s.fixed[binary.LittleEndian.Uint16(data[2:])] = [8]byte(data[8:16])
		data = data[propertyEntry:]
	}
	return s
}

func (s *storage) join(name string) string {
	if s.path == "" {
		return name
	}
	return s.path + "/" + name
}

func (s *storage) stream(id uint16, kind string) []byte {
	return s.message.read(s.join(fmt.Sprintf("__substg1.0_%04x%s", id, kind)))
}

// bytes returns a binary property.
func (s *storage) bytes(id uint16) []byte { return s.stream(id, typeBytes) }

// text returns a text property, "" if there is none.
func (s *storage) text(id uint16) string {
	if text := s.stream(id, typeUnicode); len(text) > 0 {
		return strings.TrimRight(clean(cfb.DecodeUTF16(text)), "\x00")
	}
	if text := s.stream(id, typeText); len(text) > 0 {
		return clean(cfb.Decode(s.page, text))
	}
	return ""
}

// line returns the first text property that is not empty, on one line.
func (s *storage) line(ids ...uint16) string {
	for _, id := range ids {
		if text := strings.Join(strings.Fields(s.text(id)), " "); text != "" {
			return text
		}
	}
	return ""
}

// long returns a numeric property, 0 if there is none.
func (s *storage) long(id uint16) int {
	value := s.fixed[id]
	return int(int32(binary.LittleEndian.Uint32(value[:]))) //nolint:gosec // as MS-OXCDATA has it
}

// time returns the first time property that is set, or zero.
func (s *storage) time(ids ...uint16) time.Time {
	for _, id := range ids {
		if value, found := s.fixed[id]; found {
			if at := cfb.FileTime(binary.LittleEndian.Uint64(value[:])); !at.IsZero() {
				return plausible(at.UTC())
			}
		}
	}
	return time.Time{}
}

// codePages returns the code page of texts, and that of pages without a declared encoding.
func (s *storage) codePages() (text, page int) {
	text, page = s.long(propMessageCodePage), s.long(propInternetCodePage)
	if text == 0 || text == 1200 {
		text = page
	}
	if text == 0 || text == 1200 {
		text = cfb.CodePageOf(s.long(propLocale))
	}
	return text, page
}
