package mail

import (
	"encoding/binary"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// Kinds of compression of a message's RTF (MS-OXRTFCP 2.1.3.1.1).
const (
	lzfuCompressed = 0x75465A4C
	lzfuPlain      = 0x414C454D
)

// lzfuDictionary is the initial dictionary (MS-OXRTFCP 2.1.3.1.2).
const lzfuDictionary = `{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor MS Sans SerifSymbolArialTimes New RomanCourier` +
	`{\colortbl\red0\green0\blue0` + "\r\n" + `\par \pard\plain\f0\fs20\b\i\u\tab\tx`

const (
	lzfuHeader = 16
	lzfuWindow = 4096
	// lzfuRatio is the highest compression ratio: 8 references of 2 bytes and a byte of flags stand for 17 bytes each.
	lzfuRatio = 8
)

// decompressRTF returns the RTF of a message as far as it is readable. The lengths in the header are upper bounds. The
// error is a *document.DamagedError if the data is not compressed RTF, or a *document.LimitError.
func decompressRTF(data []byte, budget *document.Budget) ([]byte, error) {
	if len(data) < lzfuHeader {
		return nil, &document.DamagedError{Format: outlookName, Detail: "its formatted text is cut off"}
	}
	le := binary.LittleEndian
	size := int(le.Uint32(data[4:]))
	kind := le.Uint32(data[8:])
	data = data[lzfuHeader:]
	switch kind {
	case lzfuPlain:
		return data[:min(len(data), size)], nil
	case lzfuCompressed:
	default:
		return nil, &document.DamagedError{Format: outlookName, Detail: "its formatted text is compressed in an unknown way"}
	}
	size = min(size, lzfuRatio*len(data)+lzfuWindow)
	if err := budget.Spend(int64(size)); err != nil {
		return nil, err
	}
	var window [lzfuWindow]byte
	at := copy(window[:], lzfuDictionary)
	out := make([]byte, 0, size)
	put := func(c byte) {
		out = append(out, c)
		window[at] = c
		at = (at + 1) % lzfuWindow
	}
	for len(data) > 0 && len(out) < size {
		flags := data[0]
		data = data[1:]
		for bit := range 8 {
			if len(data) == 0 || len(out) >= size {
				break
			}
			if flags>>bit&1 == 0 {
				put(data[0])
				data = data[1:]
				continue
			}
			if len(data) < 2 {
				return out, nil
			}
			reference := int(binary.BigEndian.Uint16(data))
			data = data[2:]
			offset, length := reference>>4, reference&0xF+2
			if offset == at {
				return out, nil // the end
			}
			for i := range length {
				put(window[(offset+i)%lzfuWindow])
			}
		}
	}
	return out, nil
}
