package xmlscan

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
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
	maxDepth      = 10_000
	maxAttributes = 10_000
	maxToken      = 32 << 20
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

// Scanner reads one XML document. What its methods return stays valid after the next call of Next, save for what Bytes,
// Attrs and AttrBytes return.
type Scanner struct {
	input
	text     []byte // of the last Text: a part of the input, or of unescaped
	scratch  []byte
	tag      []byte    // what stands behind the name in the last start tag
	raw      []rawAttr // its attributes, where they stand in tag
	attrs    []Attr    // the same once somebody has asked for them all
	value    []byte    // the value AttrBytes last had to replace entities in
	names    names
	stack    []*name // of the open elements
	last     *name   // of the last Start or End
	listed   bool    // attrs is made
	empty    bool    // the Start just given was an empty element: its End comes next
	seen     bool    // an element has been given
	fallback name
}

// New makes a scanner for UTF-8, UTF-16 with a byte order mark, or the single-byte encoding that the XML declaration names.
func New(r io.Reader) *Scanner {
	s := &Scanner{input: input{source: decoded(bufio.NewReaderSize(r, 512)), buffer: make([]byte, 0, bufferSize)}}
	s.last = &s.fallback
	return s
}

// Name returns the name of the element of the last Start or End, without its prefix.
func (s *Scanner) Name() string { return s.last.local }

// Prefix returns the namespace prefix of the element of the last Start or End, "" for none.
func (s *Scanner) Prefix() string { return s.last.prefix }

// Attrs returns the attributes of the last Start. The slice is used again by the next one.
func (s *Scanner) Attrs() []Attr {
	if !s.listed {
		s.listed = true
		s.attrs = s.attrs[:0]
		for _, raw := range s.raw {
			name := s.names.take(s.tag[raw.name:raw.nameEnd])
			s.attrs = append(s.attrs, Attr{Prefix: name.prefix, Name: name.local, Value: s.attrValue(raw)})
		}
	}
	return s.attrs
}

// Attr returns the value of the attribute of the last Start with that name, whatever its prefix, "" when there is none.
// Where several prefixes have the name, the attribute without prefix goes first.
func (s *Scanner) Attr(name string) string {
	value, _ := s.LookupAttr(name)
	return value
}

// LookupAttr is Attr for attributes whose absence means something.
func (s *Scanner) LookupAttr(name string) (value string, found bool) {
	if raw := s.find(name); raw != nil {
		return s.attrValue(*raw), true
	}
	return "", false
}

// AttrBytes is LookupAttr without making a string: the value is valid until the next call of AttrBytes or Next.
func (s *Scanner) AttrBytes(name string) (value []byte, found bool) {
	raw := s.find(name)
	if raw == nil {
		return nil, false
	}
	value = s.tag[raw.value:raw.valueEnd]
	if raw.plain {
		return value, true
	}
	s.value = appendUnescaped(s.value[:0], value)
	return s.value, true
}

// Bytes returns the characters of the last Text, entities replaced, valid until the next call of Next.
func (s *Scanner) Bytes() []byte { return s.text }

// Text returns the characters of the last Text, entities replaced.
func (s *Scanner) Text() string { return string(s.text) }

// Depth returns how many elements are open: the element of a Start counts, that of an End no longer does.
func (s *Scanner) Depth() int { return len(s.stack) }

// Offset returns how many bytes of UTF-8 have been read.
func (s *Scanner) Offset() int64 { return s.offset + int64(s.at) }

// Next goes on to the next token. At the end of the document the error is io.EOF; a *SyntaxError says that the input is
// damaged, which includes an end before all elements are closed; other errors are the reader's.
func (s *Scanner) Next() (Kind, error) {
	if s.empty {
		s.empty = false
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

func (s *Scanner) fail(detail string) error { return &SyntaxError{Detail: detail, Offset: s.Offset()} }

// end turns the end of the input into io.EOF, or into an error where it comes too early.
func (s *Scanner) end(err error) error {
	switch {
	case !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case len(s.stack) > 0:
		return s.fail("the file ends inside of <" + shorten(s.stack[len(s.stack)-1].full) + ">")
	case !s.seen:
		return s.fail("there is no element")
	}
	return io.EOF
}

// early is end for an input that ends inside a token.
func (s *Scanner) early(err error) error {
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return s.fail("the file ends inside of a tag")
	}
	return err
}

func shorten(name string) string { return strings.ToValidUTF8(name[:min(len(name), 60)], "") }
