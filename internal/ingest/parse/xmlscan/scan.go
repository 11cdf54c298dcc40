package xmlscan

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Kind is the kind of a token.
type Kind uint8

// The kinds of tokens. An empty element has a Start and an End.
const (
	Start Kind = iota + 1
	End
	Text
)

// Limits of a document.
const (
	maxDepth      = 10_000
	maxAttributes = 10_000
	maxToken      = 32 << 20
)

// A SyntaxError is returned for input that is not well-formed.
type SyntaxError struct {
	// Offset is the number of bytes before the error.
	Detail string
	Offset int64
}

// Error returns the detail with its offset.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid XML at byte %d: %s", e.Offset, e.Detail)
}

// Attr is an attribute of an element. Its value has no entities.
type Attr struct{ Prefix, Name, Value string }

// A Scanner reads an XML document. The results of Bytes, Attrs and AttrBytes are valid until the next call of Next.
type Scanner struct {
	input
	text       []byte // of the last Text: a part of the buffer, or of scratch
	scratch    []byte
	tag        []byte    // the last start tag after its name
	raw        []rawAttr // its attributes as positions in tag
	attrs      []Attr    // its attributes, if hasAttrs is set
	value      []byte    // the last result of AttrBytes that had entities
	names      names
	stack      []*name // of the open elements
	last       *name   // of the last Start or End
	hasAttrs   bool    // attrs is valid
	isEmpty    bool    // the last Start was an empty element: its End is next
	hasElement bool    // the document has an element
	fallback   name
}

// New returns a scanner of UTF-8, UTF-16 with a byte order mark, or the single-byte encoding that the XML declaration
// names.
func New(r io.Reader) *Scanner {
	s := &Scanner{input: input{source: decoded(bufio.NewReaderSize(r, 512)), buffer: make([]byte, 0, bufferSize)}}
	s.last = &s.fallback
	return s
}

// Name returns the name of the element of the last Start or End, without prefix.
func (s *Scanner) Name() string { return s.last.local }

// Prefix returns the namespace prefix of the element of the last Start or End, "" for none.
func (s *Scanner) Prefix() string { return s.last.prefix }

// Attrs returns the attributes of the last Start.
func (s *Scanner) Attrs() []Attr {
	if !s.hasAttrs {
		s.hasAttrs = true
		s.attrs = s.attrs[:0]
		for _, raw := range s.raw {
			name := s.names.intern(s.tag[raw.name:raw.nameEnd])
			s.attrs = append(s.attrs, Attr{Prefix: name.prefix, Name: name.local, Value: s.attrValue(raw)})
		}
	}
	return s.attrs
}

// Attr returns the value of an attribute of the last Start, with any prefix. An attribute without prefix takes
// precedence. It is "" if there is none.
func (s *Scanner) Attr(name string) string {
	value, _ := s.LookupAttr(name)
	return value
}

// LookupAttr is Attr with a report whether there is such an attribute.
func (s *Scanner) LookupAttr(name string) (value string, found bool) {
	if raw := s.find(name); raw != nil {
		return s.attrValue(*raw), true
	}
	return "", false
}

// AttrBytes is LookupAttr without an allocation. The value is valid until the next call of AttrBytes or Next.
func (s *Scanner) AttrBytes(name string) (value []byte, found bool) {
	raw := s.find(name)
	if raw == nil {
		return nil, false
	}
	value = s.tag[raw.value:raw.valueEnd]
	if raw.isPlain {
		return value, true
	}
	s.value = appendUnescaped(s.value[:0], value)
	return s.value, true
}

// Bytes returns the last Text. It is valid until the next call of Next.
func (s *Scanner) Bytes() []byte { return s.text }

// Text returns the last Text.
func (s *Scanner) Text() string { return string(s.text) }

// Depth returns how many elements are open. The element of a Start is included, that of an End is not.
func (s *Scanner) Depth() int { return len(s.stack) }

// Offset returns how many bytes of UTF-8 have been read.
func (s *Scanner) Offset() int64 { return s.offset + int64(s.at) }

// Next reads the next token. The error is io.EOF at the end of the document, a *SyntaxError if the input is damaged or
// truncated, or that of the reader.
func (s *Scanner) Next() (Kind, error) {
	if s.isEmpty {
		s.isEmpty = false
		s.last = s.stack[len(s.stack)-1]
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

// Skip skips the rest of the element of the last Start, including its End.
func (s *Scanner) Skip() error {
	for depth := s.Depth(); s.Depth() >= depth; {
		if _, err := s.Next(); err != nil {
			return err
		}
	}
	return nil
}

// InnerText returns the text inside the element of the last Start, and skips its End.
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

func (s *Scanner) fail(detail string) error { return &SyntaxError{Detail: detail, Offset: s.Offset()} }

// end returns the error of an input that ends between tokens: io.EOF if all elements are closed.
func (s *Scanner) end(err error) error {
	switch {
	case !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case len(s.stack) > 0:
		return s.fail("the file ends inside of <" + shorten(s.stack[len(s.stack)-1].full) + ">")
	case !s.hasElement:
		return s.fail("there is no element")
	}
	return io.EOF
}

// endInTag returns the error of an input that ends inside a token.
func (s *Scanner) endInTag(err error) error {
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return s.fail("the file ends inside of a tag")
	}
	return err
}

func shorten(name string) string { return strings.ToValidUTF8(name[:min(len(name), 60)], "") }
