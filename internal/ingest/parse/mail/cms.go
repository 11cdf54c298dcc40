package mail

import (
	"bytes"
)

// maxCMSDepth is how deep signed messages are nested.
const maxCMSDepth = 4

// cms reads a part of Cryptographic Message Syntax (RFC 5652). It contains a signed mail as it is. An encrypted one
// cannot be read.
func (c *collector) cms(e *entity) (collected, error) {
	content, signed := signedContent(e.content())
	if !signed || c.depth >= maxCMSDepth {
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

// Encoded ids of content types: 1.2.840.113549.1.7.1 and .2.
const (
	oidData       = "\x2A\x86\x48\x86\xF7\x0D\x01\x07\x01"
	oidSignedData = "\x2A\x86\x48\x86\xF7\x0D\x01\x07\x02"
)

// Tags of the Basic Encoding Rules (X.690).
const (
	tagOctets     = 0x04
	tagOID        = 0x06
	tagManyOctets = 0x24 // octets in pieces
	tagSequence   = 0x30
	tagZero       = 0xA0 // [0], constructed
)

// An element is an encoded element with its tag, its content, and the data after it.
type element struct {
	tag           byte
	content, rest []byte
	// isIndefinite is set if the element has no length. The content then is all further data, with a mark of the end.
	isIndefinite bool
}

// readElement reads the element at the start of data.
func readElement(data []byte) (element, bool) {
	if len(data) < 2 || data[0]&0x1F == 0x1F {
		return element{}, false
	}
	e := element{tag: data[0]}
	length, at := int(data[1]), 2
	switch {
	case length == 0x80:
		e.isIndefinite, e.content = true, data[2:]
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
	length = min(length, len(data)-at) // truncated data
	e.content, e.rest = data[at:at+length], data[at+length:]
	return e, true
}

// readTag reads the element at the start of data. It is false if the element has another tag.
func readTag(data []byte, tag byte) (element, bool) {
	e, found := readElement(data)
	return e, found && e.tag == tag
}

// signedContent returns the signed mail: ContentInfo, SignedData, EncapsulatedContentInfo, octets.
func signedContent(data []byte) ([]byte, bool) {
	info, found := readTag(data, tagSequence)
	if !found {
		return nil, false
	}
	oid, found := readTag(info.content, tagOID)
	if !found || string(oid.content) != oidSignedData {
		return nil, false
	}
	explicit, found := readTag(oid.rest, tagZero)
	if !found {
		return nil, false
	}
	signedData, found := readTag(explicit.content, tagSequence)
	if !found {
		return nil, false
	}
	version, found := readElement(signedData.content)
	if !found || version.isIndefinite {
		return nil, false
	}
	algorithms, found := readElement(version.rest)
	if !found || algorithms.isIndefinite {
		return nil, false
	}
	encapsulated, found := readTag(algorithms.rest, tagSequence)
	if !found {
		return nil, false
	}
	oid, found = readTag(encapsulated.content, tagOID)
	if !found || string(oid.content) != oidData {
		return nil, false
	}
	explicit, found = readTag(oid.rest, tagZero)
	if !found {
		return nil, false
	}
	return octets(explicit.content)
}

// octets returns an octet string, which may be in pieces.
func octets(data []byte) ([]byte, bool) {
	e, found := readElement(data)
	switch {
	case !found:
		return nil, false
	case e.tag == tagOctets && !e.isIndefinite:
		return e.content, true
	case e.tag != tagManyOctets:
		return nil, false
	}
	var joined bytes.Buffer
	for rest := e.content; len(rest) > 0; {
		piece, found := readElement(rest)
		if !found || piece.tag != tagOctets || piece.isIndefinite {
			break // the end mark
		}
		joined.Write(piece.content)
		rest = piece.rest
	}
	return joined.Bytes(), joined.Len() > 0
}
