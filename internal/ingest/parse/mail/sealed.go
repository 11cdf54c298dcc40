package mail

import (
	"bytes"
)

// maxSealed is how often a mail may be signed in one block within another.
const maxSealed = 4

// sealed reads a part of cryptographic message syntax (RFC 5652): a mail that is signed stands in it as it is, one that is
// encrypted cannot be read.
func (c *collector) sealed(e *entity) (collected, error) {
	content, signed := signedContent(e.content())
	if !signed || c.depth >= maxSealed {
		c.letter.encrypted = c.letter.encrypted || !signed
		return collected{}, nil
	}
	inner, _, err := readEntity(c.ctx, content, 0, c.limits)
	if err != nil {
		return collected{}, err
	}
	c.depth++
	defer func() { c.depth-- }()
	return c.collect(inner)
}

// The ids of the kinds of content, as they are encoded: 1.2.840.113549.1.7.1 and .2.
const (
	oidData       = "\x2A\x86\x48\x86\xF7\x0D\x01\x07\x01"
	oidSignedData = "\x2A\x86\x48\x86\xF7\x0D\x01\x07\x02"
)

// Tags of the basic encoding rules (X.690).
const (
	tagOctets     = 0x04
	tagOID        = 0x06
	tagManyOctets = 0x24 // octets in pieces
	tagSequence   = 0x30
	tagZero       = 0xA0 // [0], constructed
)

// element is one element: its tag, what stands in it, and what follows it.
type element struct {
	tag           byte
	content, rest []byte
	// open tells that the element has no length: content goes on to the end of all, and the end is marked in it.
	open bool
}

// readElement reads the element that data begins with.
func readElement(data []byte) (element, bool) {
	if len(data) < 2 || data[0]&0x1F == 0x1F {
		return element{}, false
	}
	e := element{tag: data[0]}
	length, at := int(data[1]), 2
	switch {
	case length == 0x80:
		e.open, e.content = true, data[2:]
		return e, true
	case length > 0x80:
		digits := length & 0x7F
		if digits > 4 || len(data) < 2+digits {
			return element{}, false
		}
		length = 0
		for _, digit := range data[2 : 2+digits] {
			length = length<<8 | int(digit)
		}
		at += digits
	}
	length = min(length, len(data)-at) // what is cut off is missing
	e.content, e.rest = data[at:at+length], data[at+length:]
	return e, true
}

// inside reads the element that another one begins with, which must have the tag.
func inside(data []byte, tag byte) (element, bool) {
	e, found := readElement(data)
	return e, found && e.tag == tag
}

// signedContent returns what is signed: ContentInfo, SignedData, EncapsulatedContentInfo, and in it the octets.
func signedContent(data []byte) ([]byte, bool) {
	info, found := inside(data, tagSequence)
	if !found {
		return nil, false
	}
	oid, found := inside(info.content, tagOID)
	if !found || string(oid.content) != oidSignedData {
		return nil, false
	}
	explicit, found := inside(oid.rest, tagZero)
	if !found {
		return nil, false
	}
	signed, found := inside(explicit.content, tagSequence)
	if !found {
		return nil, false
	}
	version, found := readElement(signed.content)
	if !found || version.open {
		return nil, false
	}
	algorithms, found := readElement(version.rest)
	if !found || algorithms.open {
		return nil, false
	}
	encapsulated, found := inside(algorithms.rest, tagSequence)
	if !found {
		return nil, false
	}
	oid, found = inside(encapsulated.content, tagOID)
	if !found || string(oid.content) != oidData {
		return nil, false
	}
	explicit, found = inside(oid.rest, tagZero)
	if !found {
		return nil, false
	}
	return octets(explicit.content)
}

// octets returns a string of octets that may be in pieces.
func octets(data []byte) ([]byte, bool) {
	e, found := readElement(data)
	switch {
	case !found:
		return nil, false
	case e.tag == tagOctets && !e.open:
		return e.content, true
	case e.tag != tagManyOctets:
		return nil, false
	}
	var joined bytes.Buffer
	for rest := e.content; len(rest) > 0; {
		piece, found := readElement(rest)
		if !found || piece.tag != tagOctets || piece.open {
			break // the mark of the end
		}
		joined.Write(piece.content)
		rest = piece.rest
	}
	return joined.Bytes(), joined.Len() > 0
}
