package xmlscan

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Kind says what Next has come to.
type Kind uint8

// The kinds of tokens. An empty element gives a Start and an End.
const (
	Start Kind = iota + 1
	End
	Text
)

// Bounds of what is believed to be XML.
const (
	maxDepth = 10_000
	maxToken = 32 << 20
)

// SyntaxError says that the input is no well-formed XML.
type SyntaxError struct {
	// Detail says what is wrong, Offset after how many bytes it was met.
	Detail string
	Offset int64
}

// Error says what is wrong and where.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid XML at byte %d: %s", e.Offset, e.Detail)
}

// Attr is an attribute of an element, its value with entities replaced.
type Attr struct{ Prefix, Name, Value string }

// Scanner reads one XML document. What its methods return stays valid after the next call of Next, save for Bytes.
type Scanner struct {
	r       *bufio.Reader
	offset  int64
	scratch []byte
	text    []byte
	attrs   []Attr
	names   map[string]string // names seen, so that each is one string
	stack   []string          // full names of the open elements
	prefix  string
	name    string
	empty   bool // the Start just given was an empty element: its End comes next
	seen    bool // an element has been given
}

// New makes a scanner for UTF-8, UTF-16 with a byte order mark, or the single-byte encoding that the XML declaration names.
func New(r io.Reader) *Scanner {
	buffered := bufio.NewReaderSize(r, 64<<10)
	return &Scanner{r: bufio.NewReaderSize(decoded(buffered), 64<<10), names: make(map[string]string)}
}

// decoded turns the input into UTF-8.
func decoded(r *bufio.Reader) io.Reader {
	head, _ := r.Peek(200)
	switch {
	case bytes.HasPrefix(head, []byte("\xEF\xBB\xBF")):
		_, _ = r.Discard(3)
		return r
	case bytes.HasPrefix(head, []byte("\xFF\xFE")), bytes.HasPrefix(head, []byte("\xFE\xFF")):
		return transform.NewReader(r, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder())
	case bytes.HasPrefix(head, []byte("<\x00")):
		return transform.NewReader(r, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewDecoder())
	case bytes.HasPrefix(head, []byte("\x00<")):
		return transform.NewReader(r, unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewDecoder())
	}
	declaration, _, _ := bytes.Cut(head, []byte("?>"))
	lower := strings.ToLower(string(declaration))
	for _, latin := range []string{"iso-8859-1", "latin1", "windows-1252", "us-ascii"} {
		if strings.HasPrefix(lower, "<?xml") && strings.Contains(lower, latin) {
			return transform.NewReader(r, charmap.Windows1252.NewDecoder())
		}
	}
	return r
}

// Name returns the name of the element of the last Start or End, without its prefix.
func (s *Scanner) Name() string { return s.name }

// Prefix returns the namespace prefix of the element of the last Start or End, "" for none.
func (s *Scanner) Prefix() string { return s.prefix }

// Attrs returns the attributes of the last Start. The slice is used again by the next one.
func (s *Scanner) Attrs() []Attr { return s.attrs }

// Attr returns the value of the attribute of the last Start with that name, whatever its prefix, "" when there is none.
// Where several prefixes have the name, the attribute without prefix goes first.
func (s *Scanner) Attr(name string) string {
	value, _ := s.LookupAttr(name)
	return value
}

// LookupAttr is Attr for attributes whose absence means something.
func (s *Scanner) LookupAttr(name string) (value string, found bool) {
	for i := range s.attrs {
		if s.attrs[i].Name == name && (!found || s.attrs[i].Prefix == "") {
			value, found = s.attrs[i].Value, true
		}
	}
	return value, found
}

// Bytes returns the characters of the last Text, entities replaced, valid until the next call of Next.
func (s *Scanner) Bytes() []byte { return s.text }

// Text returns the characters of the last Text, entities replaced.
func (s *Scanner) Text() string { return string(s.text) }

// Depth returns how many elements are open: the element of a Start counts, that of an End no longer does.
func (s *Scanner) Depth() int { return len(s.stack) }

// Offset returns how many bytes of UTF-8 have been read.
func (s *Scanner) Offset() int64 { return s.offset }

// Next goes on to the next token. At the end of the document the error is io.EOF; a *SyntaxError says that the input is
// damaged, which includes an end before all elements are closed; other errors are the reader's.
func (s *Scanner) Next() (Kind, error) {
	if s.empty {
		s.empty = false
		s.stack = s.stack[:len(s.stack)-1]
		return End, nil
	}
	for {
		kind, err := s.token()
		if err != nil || kind != 0 {
			return kind, err
		}
	}
}

// Skip passes over the rest of the element of the last Start, its End included.
func (s *Scanner) Skip() error {
	for depth := s.Depth(); s.Depth() >= depth; {
		if _, err := s.Next(); err != nil {
			return err
		}
	}
	return nil
}

// InnerText returns the characters inside the element of the last Start and passes over its End.
func (s *Scanner) InnerText() (string, error) {
	var b strings.Builder
	for depth := s.Depth(); s.Depth() >= depth; {
		kind, err := s.Next()
		if err != nil {
			return "", err
		}
		if kind == Text {
			b.Write(s.text)
		}
	}
	return b.String(), nil
}

func (s *Scanner) fail(detail string) error { return &SyntaxError{Detail: detail, Offset: s.offset} }

// until reads up to and with a delimiter. The result is valid until the next read.
func (s *Scanner) until(delimiter byte) ([]byte, error) {
	part, err := s.r.ReadSlice(delimiter)
	s.offset += int64(len(part))
	if err == nil {
		return part, nil
	}
	s.scratch = append(s.scratch[:0], part...)
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(s.scratch) > maxToken {
			return nil, s.fail("a token longer than 32 MiB")
		}
		part, err = s.r.ReadSlice(delimiter)
		s.offset += int64(len(part))
		s.scratch = append(s.scratch, part...)
	}
	return s.scratch, err
}

// token reads one token; what is passed over gives kind 0.
func (s *Scanner) token() (Kind, error) {
	head, err := s.r.Peek(1)
	if err != nil {
		return 0, s.end(err)
	}
	if head[0] != '<' {
		return s.characters()
	}
	head, _ = s.r.Peek(9)
	switch {
	case bytes.HasPrefix(head, []byte("<!--")):
		return 0, s.skipTo("-->", 4)
	case bytes.HasPrefix(head, []byte("<![CDATA[")):
		return s.cdata()
	case bytes.HasPrefix(head, []byte("<?")):
		return 0, s.skipTo("?>", 2)
	case bytes.HasPrefix(head, []byte("<!")):
		return 0, s.skipDefinition()
	}
	return s.tag()
}

// end turns the end of the input into io.EOF, or into an error where it comes too early.
func (s *Scanner) end(err error) error {
	switch {
	case !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case len(s.stack) > 0:
		return s.fail("the file ends inside of <" + s.stack[len(s.stack)-1] + ">")
	case !s.seen:
		return s.fail("there is no element")
	}
	return io.EOF
}

func (s *Scanner) characters() (Kind, error) {
	part, err := s.until('<')
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	if err == nil {
		part = part[:len(part)-1]
		s.offset--
		_ = s.r.UnreadByte() // the byte was read just now
	}
	if len(s.stack) == 0 {
		return 0, nil // blanks around the root
	}
	s.text = appendUnescaped(s.text[:0], part)
	return Text, nil
}

func (s *Scanner) cdata() (Kind, error) {
	_, _ = s.r.Discard(len("<![CDATA["))
	s.text = s.text[:0]
	for {
		part, err := s.until('>')
		s.text = append(s.text, part...)
		switch {
		case err != nil:
			return 0, s.early(err)
		case bytes.HasSuffix(s.text, []byte("]]>")):
			s.text = s.text[:len(s.text)-3]
			if len(s.stack) == 0 {
				return 0, nil
			}
			return Text, nil
		case len(s.text) > maxToken:
			return 0, s.fail("a CDATA section longer than 32 MiB")
		}
	}
}

// early is end for an input that ends inside a token.
func (s *Scanner) early(err error) error {
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return s.fail("the file ends inside of a tag")
	}
	return err
}

func (s *Scanner) skipTo(mark string, from int) error {
	_, _ = s.r.Discard(from)
	s.offset += int64(from)
	tail := make([]byte, 0, 2*len(mark))
	for {
		part, err := s.until(mark[len(mark)-1])
		if err != nil {
			return s.early(err)
		}
		tail = append(tail, part[max(0, len(part)-len(mark)):]...)
		if bytes.HasSuffix(tail, []byte(mark)) {
			return nil
		}
		tail = append(tail[:0], tail[max(0, len(tail)-len(mark)):]...)
	}
}

// skipDefinition passes over a document type, with the declarations inside it.
func (s *Scanner) skipDefinition() error {
	depth := 0
	for {
		part, err := s.until('>')
		if err != nil {
			return s.early(err)
		}
		for _, b := range part {
			switch b {
			case '[':
				depth++
			case ']':
				depth--
			}
		}
		if depth <= 0 {
			return nil
		}
	}
}

// tag reads a start or end tag. A > inside a quoted value does not end it.
func (s *Scanner) tag() (Kind, error) {
	part, err := s.until('>')
	if err != nil {
		return 0, s.early(err)
	}
	for openQuote(part) {
		whole := append(make([]byte, 0, 2*len(part)), part...)
		if part, err = s.until('>'); err != nil {
			return 0, s.early(err)
		}
		part = append(whole, part...)
		if len(part) > maxToken {
			return 0, s.fail("a tag longer than 32 MiB")
		}
	}
	body := part[1 : len(part)-1]
	if len(body) > 0 && body[0] == '/' {
		return s.endTag(trimBlanksRight(body[1:]))
	}
	return s.startTag(body)
}

// openQuote reports a tag that ends inside a quoted value.
func openQuote(tag []byte) bool {
	var quote byte
	for _, b := range tag {
		switch {
		case quote == 0 && (b == '"' || b == '\''):
			quote = b
		case b == quote:
			quote = 0
		}
	}
	return quote != 0
}

func (s *Scanner) endTag(name []byte) (Kind, error) {
	if len(s.stack) == 0 {
		return 0, s.fail("</" + shorten(name) + "> closes nothing")
	}
	open := s.stack[len(s.stack)-1]
	if open != string(name) {
		return 0, s.fail("<" + open + "> is closed by </" + shorten(name) + ">")
	}
	s.stack = s.stack[:len(s.stack)-1]
	s.setName(open)
	return End, nil
}

func shorten(name []byte) string { return strings.ToValidUTF8(string(name[:min(len(name), 60)]), "") }

func (s *Scanner) setName(full string) {
	s.prefix, s.name = "", full
	if at := strings.IndexByte(full, ':'); at >= 0 {
		s.prefix, s.name = full[:at], full[at+1:]
	}
}

func (s *Scanner) startTag(body []byte) (Kind, error) {
	s.empty = len(body) > 0 && body[len(body)-1] == '/'
	if s.empty {
		body = body[:len(body)-1]
	}
	end := 0
	for end < len(body) && !isBlank(body[end]) {
		end++
	}
	if end == 0 || !isNameStart(body[0]) {
		return 0, s.fail("a < that begins no tag")
	}
	if len(s.stack) >= maxDepth {
		return 0, s.fail("elements nested " + strconv.Itoa(maxDepth) + " deep")
	}
	if len(s.stack) == 0 && s.seen {
		return 0, s.fail("a second root element")
	}
	full := s.intern(body[:end])
	s.stack = append(s.stack, full)
	s.setName(full)
	s.seen = true
	return Start, s.attributes(body[end:])
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\n' }

func trimBlanks(b []byte) []byte {
	for len(b) > 0 && isBlank(b[0]) {
		b = b[1:]
	}
	return b
}

func trimBlanksRight(b []byte) []byte {
	for len(b) > 0 && isBlank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

func isNameStart(b byte) bool {
	return b >= 0x80 || b == '_' || b == ':' || 'a' <= b|0x20 && b|0x20 <= 'z'
}

// maxNames bounds the names that are kept: a hostile file may invent a new one each time.
const maxNames = 4096

func (s *Scanner) intern(name []byte) string {
	if known, ok := s.names[string(name)]; ok {
		return known
	}
	made := string(name)
	if len(s.names) < maxNames {
		s.names[made] = made
	}
	return made
}

func (s *Scanner) attributes(rest []byte) error {
	s.attrs = s.attrs[:0]
	for {
		rest = trimBlanks(rest)
		if len(rest) == 0 {
			return nil
		}
		equal := bytes.IndexByte(rest, '=')
		if equal < 0 {
			return s.fail("an attribute without a value")
		}
		name := trimBlanksRight(rest[:equal])
		rest = trimBlanks(rest[equal+1:])
		if len(rest) == 0 || rest[0] != '"' && rest[0] != '\'' {
			return s.fail("an attribute whose value is not quoted")
		}
		closing := bytes.IndexByte(rest[1:], rest[0])
		if closing < 0 {
			return s.fail("an attribute whose value is not closed")
		}
		value := rest[1 : 1+closing]
		rest = rest[closing+2:]
		attr := Attr{Name: s.intern(name), Value: s.value(value)}
		if at := strings.IndexByte(attr.Name, ':'); at >= 0 {
			attr.Prefix, attr.Name = attr.Name[:at], attr.Name[at+1:]
		}
		s.attrs = append(s.attrs, attr)
	}
}

// value returns an attribute's value; short ones without entities are kept, since they repeat.
func (s *Scanner) value(raw []byte) string {
	if len(raw) <= 16 && bytes.IndexByte(raw, '&') < 0 {
		return s.intern(raw)
	}
	return string(appendUnescaped(nil, raw))
}

// appendUnescaped appends text with its entities replaced, line ends made \n, and bytes that are no UTF-8 replaced.
func appendUnescaped(to, text []byte) []byte {
	begin := len(to)
	for {
		at := 0
		for at < len(text) && text[at] != '&' && text[at] != '\r' {
			at++
		}
		if at == len(text) {
			to = append(to, text...)
			break
		}
		to = append(to, text[:at]...)
		if text[at] == '\r' {
			to = append(to, '\n')
			text = text[at+1:]
			if len(text) > 0 && text[0] == '\n' {
				text = text[1:]
			}
			continue
		}
		semicolon := bytes.IndexByte(text[at:min(len(text), at+32)], ';')
		if semicolon < 0 {
			to = append(to, '&')
			text = text[at+1:]
			continue
		}
		entity := text[at+1 : at+semicolon]
		if r, known := entityRune(string(entity)); known {
			to = utf8.AppendRune(to, r)
		} else {
			to = append(to, text[at:at+semicolon+1]...)
		}
		text = text[at+semicolon+1:]
	}
	if !utf8.Valid(to[begin:]) {
		return append(to[:begin], bytes.ToValidUTF8(to[begin:], []byte("\uFFFD"))...)
	}
	return to
}

func entityRune(entity string) (rune, bool) {
	switch entity {
	case "amp":
		return '&', true
	case "lt":
		return '<', true
	case "gt":
		return '>', true
	case "quot":
		return '"', true
	case "apos":
		return '\'', true
	case "nbsp":
		return '\u00A0', true
	}
	number, found := strings.CutPrefix(entity, "#")
	if !found {
		return 0, false
	}
	base := 10
	if hex, found := strings.CutPrefix(strings.ToLower(number), "x"); found {
		number, base = hex, 16
	}
	value, err := strconv.ParseUint(number, base, 32)
	if err != nil || value > utf8.MaxRune || value == 0 {
		return 0, false
	}
	return rune(value), true //nolint:gosec // at most utf8.MaxRune
}
