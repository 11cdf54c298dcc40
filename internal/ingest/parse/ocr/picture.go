package ocr

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// formatName is the name of all formats in errors.
const formatName = "image"

const (
	// maxPixels is how many pixels a picture may have. Each takes four bytes of memory.
	maxPixels = 100_000_000
	// minSide is the length of the shortest side of a picture with text, in pixels.
	minSide = 16
	// maxTags is how many entries of a TIFF directory are read.
	maxTags = 1000
)

// picture is the header of an image file.
type picture struct {
	width, height int // of the largest page
	pages         int
	isTruncated   bool // the end of the file is missing
}

// measure reads the header of an image file. The error is a *document.DamagedError if it is no image, or a
// *document.LimitError if it is too large.
func measure(content []byte) (picture, error) {
	var p picture
	var err error
	has := func(mark string) bool { return bytes.HasPrefix(content, []byte(mark)) }
	switch {
	case has("\x89PNG\r\n\x1a\n"):
		p, err = configured(png.DecodeConfig(bytes.NewReader(content)))
		p.isTruncated = !bytes.Contains(content[max(0, len(content)-64):], []byte("IEND"))
	case has("\xff\xd8\xff"):
		p, err = configured(jpeg.DecodeConfig(bytes.NewReader(content)))
		p.isTruncated = bytes.LastIndex(content, []byte{0xff, 0xd9}) < len(content)/2
	case has("GIF8"):
		p, err = configured(gif.DecodeConfig(bytes.NewReader(content)))
		p.isTruncated = bytes.LastIndexByte(content, 0x3b) < len(content)-16
	case has("BM"):
		p, err = measureBMP(content)
	case has("RIFF") && len(content) >= 12 && string(content[8:12]) == "WEBP":
		p, err = measureWebP(content)
	case has("II*\x00"):
		p, err = measureTIFF(content, binary.LittleEndian)
	case has("MM\x00*"):
		p, err = measureTIFF(content, binary.BigEndian)
	default:
		err = errors.New("unknown mark")
	}
	switch {
	case err != nil:
		return picture{}, &document.DamagedError{Format: formatName, Detail: "its head cannot be read", Cause: err}
	case p.width <= 0 || p.height <= 0:
		return picture{}, &document.DamagedError{Format: formatName, Detail: "it has no size"}
	case p.width > maxPixels/p.height:
		return picture{}, &document.LimitError{Detail: fmt.Sprintf("the image has %d by %d pixels, the limit is %d megapixels",
			p.width, p.height, maxPixels/1_000_000)}
	}
	return p, nil
}

func configured(config image.Config, err error) (picture, error) {
	return picture{width: config.Width, height: config.Height, pages: 1}, err
}

var errShort = errors.New("the file is too short")

// measureBMP reads the header of a Windows bitmap.
func measureBMP(content []byte) (picture, error) {
	if len(content) < 26 {
		return picture{}, errShort
	}
	order := binary.LittleEndian
	p := picture{pages: 1}
	if order.Uint32(content[14:]) == 12 { // an OS/2 header
		p.width, p.height = int(order.Uint16(content[18:])), int(order.Uint16(content[20:]))
	} else {
		width, height := int32(order.Uint32(content[18:])), int32(order.Uint32(content[22:])) //nolint:gosec // they are signed in the file
		p.width, p.height = int(width), max(int(height), -int(height))
	}
	p.isTruncated = int64(order.Uint32(content[2:])) > int64(len(content))
	return p, nil
}

// measureWebP reads the header of a WebP file (RFC 9649): lossy, lossless or extended.
func measureWebP(content []byte) (picture, error) {
	if len(content) < 30 {
		return picture{}, errShort
	}
	order := binary.LittleEndian
	p := picture{pages: 1, isTruncated: int64(order.Uint32(content[4:]))+8 > int64(len(content))}
	switch string(content[12:16]) {
	case "VP8 ":
		p.width, p.height = int(order.Uint16(content[26:])&0x3fff), int(order.Uint16(content[28:])&0x3fff)
	case "VP8L":
		bits := order.Uint32(content[21:])
		p.width, p.height = int(bits&0x3fff)+1, int(bits>>14&0x3fff)+1
	case "VP8X":
		p.width = int(content[24]) + int(content[25])<<8 + int(content[26])<<16 + 1
		p.height = int(content[27]) + int(content[28])<<8 + int(content[29])<<16 + 1
	default:
		return picture{}, errors.New("unknown kind of WebP")
	}
	return p, nil
}

// measureTIFF reads the sizes of the pages of a TIFF file (TIFF 6.0, section 2).
func measureTIFF(content []byte, order binary.ByteOrder) (picture, error) {
	if len(content) < 8 {
		return picture{}, errShort
	}
	var p picture
	seen := make(map[uint32]bool)
	for at := order.Uint32(content[4:]); at != 0; {
		if seen[at] || int64(at)+2 > int64(len(content)) {
			if p.pages == 0 {
				return picture{}, errShort
			}
			p.isTruncated = true
			break
		}
		seen[at] = true
		count := int(order.Uint16(content[at:]))
		entries := content[at+2:]
		if count > maxTags || len(entries) < 12*count {
			if p.pages == 0 {
				return picture{}, errShort
			}
			p.isTruncated = true
			break
		}
		width, height := 0, 0
		for i := range count {
			entry := entries[12*i:]
			value := int64(order.Uint32(entry[8:]))
			if order.Uint16(entry[2:]) == 3 {
				value = int64(order.Uint16(entry[8:]))
			}
			switch order.Uint16(entry) {
			case 256:
				width = int(value)
			case 257:
				height = int(value)
			}
		}
		p.pages++
		p.width, p.height = max(p.width, width), max(p.height, height)
		if len(entries) < 12*count+4 {
			break
		}
		at = order.Uint32(entries[12*count:])
	}
	return p, nil
}
