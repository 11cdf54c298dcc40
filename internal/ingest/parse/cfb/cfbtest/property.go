package cfbtest

import (
	"encoding/binary"
)

// A Property is a property to be written.
type Property struct {
	ID    uint32
	Type  uint16
	Value []byte
}

// Properties returns the stream of a property set (MS-OLEPS). The format id has 16 bytes.
func Properties(format string, properties ...Property) []byte {
	le := binary.LittleEndian
	out := make([]byte, 28, 256)
	le.PutUint16(out, 0xFFFE)
	le.PutUint32(out[24:], 1)
	out = append(out, format...)
	out = le.AppendUint32(out, 48)
	set := make([]byte, 8+8*len(properties))
	le.PutUint32(set[4:], u32(len(properties)))
	for i, p := range properties {
		le.PutUint32(set[8+8*i:], p.ID)
		le.PutUint32(set[12+8*i:], u32(len(set)))
		set = le.AppendUint32(set, uint32(p.Type))
		set = append(set, p.Value...)
		set = append(set, make([]byte, -len(p.Value)&3)...)
	}
	le.PutUint32(set, u32(len(set)))
	return append(out, set...)
}

// Text returns the value of a string property.
func Text(text string) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, u32(len(text)+1)), text+"\x00"...)
}
