package xmlscan

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"unicode/utf8"
)

// rawAttr is the position of an attribute in the tag.
type rawAttr struct {
	name, local, nameEnd int // local is the start of its name without prefix
	value, valueEnd      int
	isPlain              bool // the value has no entities and carriage returns
}

// find returns the attribute with a name and any prefix, or nil. One without prefix takes precedence.
func (s *Scanner) find(name string) *rawAttr {
	var found *rawAttr
	for i := range s.raw {
		raw := &s.raw[i]
		if raw.nameEnd-raw.local != len(name) || string(s.tag[raw.local:raw.nameEnd]) != name {
			continue
		}
		if found == nil || raw.local == raw.name {
			found = raw
		}
	}
	return found
}

func (s *Scanner) attrValue(raw rawAttr) string {
	value := s.tag[raw.value:raw.valueEnd]
	if raw.isPlain {
		return s.names.value(value)
	}
	return string(appendUnescaped(nil, value))
}

// token reads a token. The kind is 0 if it was skipped.
func (s *Scanner) token() (Kind, error) {
	first, err := s.byteAt(0)
	if err != nil {
		return 0, s.end(err)
	}
	if first != '<' {
		return s.characters()
	}
	second, err := s.byteAt(1)
	switch {
	case err != nil:
		return 0, s.endInTag(err)
	case second == '/':
		return s.endTag()
	case second == '?':
		return 0, s.skipTo("?>", 2)
	case second != '!':
		return s.startTag()
	case s.hasPrefix("<!--"):
		return 0, s.skipTo("-->", 4)
	case s.hasPrefix("<![CDATA["):
		return s.cdata()
	}
	return 0, s.definition()
}

func (s *Scanner) characters() (Kind, error) {
	end, err := s.index('<', 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	text := s.buffer[s.at : s.at+end]
	s.at += end
	if len(s.stack) == 0 {
		return 0, nil // white space around the root
	}
	s.setText(text)
	return Text, nil
}

// setText sets the text of the token. It copies only text that must be changed.
func (s *Scanner) setText(text []byte) {
	if isPlain(text) {
		s.text = text
		return
	}
	s.scratch = appendUnescaped(s.scratch[:0], text)
	s.text = s.scratch
}

func (s *Scanner) cdata() (Kind, error) {
	const begin = len("<![CDATA[")
	end, err := s.indexText("]]>", begin)
	if err != nil {
		return 0, s.endInTag(err)
	}
	s.text = s.buffer[s.at+begin : s.at+end]
	if !utf8.Valid(s.text) {
		s.text = bytes.ToValidUTF8(s.text, []byte("\uFFFD"))
	}
	s.at += end + len("]]>")
	if len(s.stack) == 0 {
		return 0, nil
	}
	return Text, nil
}

// skipTo skips to the end of a mark. The skipped text may be longer than a token.
func (s *Scanner) skipTo(mark string, from int) error {
	s.at += from
	for {
		if at := bytes.Index(s.buffer[s.at:], []byte(mark)); at >= 0 {
			s.at += at + len(mark)
			return nil
		}
		s.at = max(s.at, len(s.buffer)-len(mark)+1)
		if err := s.more(); err != nil {
			return s.endInTag(err)
		}
	}
}

// definition skips a document type definition.
func (s *Scanner) definition() error {
	for depth := 0; ; {
		b, err := s.byteAt(0)
		if err != nil {
			return s.endInTag(err)
		}
		s.at++
		switch b {
		case '[':
			depth++
		case ']':
			depth--
		case '>':
			if depth <= 0 {
				return nil
			}
		}
	}
}

func (s *Scanner) endTag() (Kind, error) {
	if depth := len(s.stack); depth > 0 { // the usual case: it closes the last element, has no blanks and is in the buffer
		open := s.stack[depth-1]
		end := s.at + 2 + len(open.full)
		if end < len(s.buffer) && s.buffer[end] == '>' && string(s.buffer[s.at+2:end]) == open.full {
			s.stack, s.last, s.at = s.stack[:depth-1], open, end+1
			return End, nil
		}
	}
	end, err := s.index('>', 2)
	if err != nil {
		return 0, s.endInTag(err)
	}
	spelled := s.buffer[s.at+2 : s.at+end]
	for len(spelled) > 0 && isBlank(spelled[len(spelled)-1]) {
		spelled = spelled[:len(spelled)-1]
	}
	s.at += end + 1
	if len(s.stack) == 0 {
		return 0, s.fail("</" + shorten(string(spelled)) + "> closes nothing")
	}
	open := s.stack[len(s.stack)-1]
	if open.full != string(spelled) {
		return 0, s.fail("<" + shorten(open.full) + "> is closed by </" + shorten(string(spelled)) + ">")
	}
	s.stack = s.stack[:len(s.stack)-1]
	s.last = open
	return End, nil
}

// startTag reads a start tag. A > in a quoted value does not end it.
func (s *Scanner) startTag() (Kind, error) {
	end, err := s.index('>', 1)
	if err != nil {
		return 0, s.endInTag(err)
	}
	token := s.buffer[s.at : s.at+end]
	nameEnd := 1
	for nameEnd < len(token) && !isBlank(token[nameEnd]) && token[nameEnd] != '/' {
		nameEnd++
	}
	if nameEnd == 1 || !isNameStart(token[1]) {
		return 0, s.fail("a < that begins no tag")
	}
	switch {
	case len(s.stack) >= maxDepth:
		return 0, s.fail("elements nested " + strconv.Itoa(maxDepth) + " deep")
	case len(s.stack) == 0 && s.hasElement:
		return 0, s.fail("a second root element")
	}
	s.last = s.names.intern(token[1:nameEnd])
	s.stack = append(s.stack, s.last)
	s.hasElement, s.hasAttrs = true, false
	s.raw, s.tag = s.raw[:0], s.tag[:0]
	if s.isEmpty = token[end-1] == '/' && nameEnd == end-1; s.isEmpty || nameEnd == end {
		s.at += end + 1
		return Start, nil
	}
	if end, err = s.attributes(nameEnd, end); err != nil {
		return 0, err
	}
	s.tag = append(s.tag, s.buffer[s.at+nameEnd:s.at+end]...)
	s.at += end + 1
	return Start, nil
}

// attributes reads the positions of the attributes, and whether the element is empty. It returns the end of the tag,
// which is later than expected if a value contains a >.
func (s *Scanner) attributes(from, end int) (int, error) {
	token := s.buffer[s.at : s.at+end]
	for at := from; ; {
		for at < end && isBlank(token[at]) {
			at++
		}
		if at == end {
			return end, nil
		}
		if token[at] == '/' && at == end-1 {
			s.isEmpty = true
			return end, nil
		}
		raw := rawAttr{name: at - from, local: at - from}
		for at < end && token[at] != '=' && !isBlank(token[at]) {
			if token[at] == ':' && raw.local == raw.name {
				raw.local = at + 1 - from
			}
			at++
		}
		raw.nameEnd = at - from
		for at < end && isBlank(token[at]) {
			at++
		}
		if at == end || token[at] != '=' || raw.nameEnd == raw.name {
			return 0, s.fail("an attribute without a value")
		}
		for at++; at < end && isBlank(token[at]); at++ {
		}
		if at == end || token[at] != '"' && token[at] != '\'' {
			return 0, s.fail("an attribute whose value is not quoted")
		}
		quote := token[at]
		at++
		close := at
		for close < end && token[close] != quote {
			close++
		}
		if close == end {
			var err error
			if close, end, err = s.longValue(quote, end); err != nil {
				return 0, err
			}
			token = s.buffer[s.at : s.at+end]
		}
		raw.value, raw.valueEnd = at-from, close-from
		raw.isPlain = isPlain(token[at:close])
		if s.raw = append(s.raw, raw); len(s.raw) > maxAttributes {
			return 0, s.fail("an element with more than " + strconv.Itoa(maxAttributes) + " attributes")
		}
		at = close + 1
	}
}

// longValue returns the end of a value that contains a >, and the next > after it.
func (s *Scanner) longValue(quote byte, from int) (closing, end int, err error) {
	if closing, err = s.index(quote, from); err != nil {
		return 0, 0, s.endInTag(err)
	}
	if end, err = s.index('>', closing+1); err != nil {
		return 0, 0, s.endInTag(err)
	}
	return closing, end, nil
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\n' }

func isNameStart(b byte) bool {
	return b >= 0x80 || b == '_' || b == ':' || 'a' <= b|0x20 && b|0x20 <= 'z'
}

// isPlain reports whether text is valid UTF-8 without entities and carriage returns.
func isPlain(text []byte) bool {
	if len(text) < 32 {
		for _, b := range text {
			if b == '&' || b == '\r' || b >= utf8.RuneSelf {
				return b >= utf8.RuneSelf && bytes.IndexByte(text, '&') < 0 && bytes.IndexByte(text, '\r') < 0 && utf8.Valid(text)
			}
		}
		return true
	}
	return bytes.IndexByte(text, '&') < 0 && bytes.IndexByte(text, '\r') < 0 && utf8.Valid(text)
}
