package ole

// Properties, or sprms (MS-DOC 2.6). The one-byte properties of Word 6 and 95 are mapped to these.
const (
	charDeleted      = 0x0800
	charVanish       = 0x083C
	charBold         = 0x0835
	charItalic       = 0x0836
	charSpecial      = 0x0855
	charStyle        = 0x4A30
	charFont         = 0x4A4F
	charSymbol       = 0x6A09
	paraStyle        = 0x4600
	paraLevel        = 0x260A
	paraList         = 0x460B
	paraNumbered     = 0xC63E // a number of Word 6 and 95
	paraInTable      = 0x2416
	paraRowEnd       = 0x2417
	paraDepth        = 0x6649
	paraDeeper       = 0x664A
	paraInnerCell    = 0x244B
	paraInnerRowEnd  = 0x244C
	paraOutline      = 0x2640
	paraHuge         = 0x6646
	paraHugeTable    = 0x646B
	tableDefinition  = 0xD608
	tableDefinition6 = 0xD606 // that of Word 6
	tableHeader      = 0x3404
)

// maxHuge is how often a property list may continue in the data stream.
const maxHuge = 4

// eachProperty calls a function for each property of a list with its value, which may be too short.
func eachProperty(list view, old bool, do func(property int, value view)) {
	for at := 0; at < len(list); {
		property, size := 0, 0
		if old {
			property, size = oldProperty(list.from(at))
			at++
		} else {
			property = list.u16(at)
			at += 2
			size = propertySize(property, list.from(at))
		}
		if property != 0 {
			do(property, list.part(at, size))
		}
		at += size
	}
}

// propertySize returns the size of a property's value (MS-DOC 2.2.5.1).
func propertySize(property int, value view) int {
	switch property >> 13 {
	case 0, 1:
		return 1
	case 2, 4, 5:
		return 2
	case 3:
		return 4
	case 7:
		return 3
	}
	switch property {
	case tableDefinition, tableDefinition6:
		return value.u16(0) + 1
	case 0xC615: // tab stops, whose size may follow from their numbers
		if value.u8(0) == 255 {
			deleted := value.u8(1)
			return 1 + 1 + 4*deleted + 1 + 3*value.u8(2+4*deleted)
		}
	}
	return 1 + value.u8(0)
}

// shortChange returns the property list of a piece that contains its property (MS-DOC 2.9.215).
func shortChange(change int) view {
	property := 0
	switch change >> 1 & 0x7F {
	case 0x0C:
		property = paraLevel
	case 0x18:
		property = paraInTable
	case 0x19:
		property = paraRowEnd
	case 0x41:
		property = charDeleted
	case 0x55:
		property = charBold
	case 0x56:
		property = charItalic
	case 0x5C:
		property = charVanish
	default:
		return nil
	}
	return view{byte(property & 0xFF), byte(property >> 8), byte(change >> 8)} //nolint:gosec // of 16 bits
}

// oldProperty returns the property to which one of Word 6 or 95 is mapped, or 0, and the size of its value.
func oldProperty(list view) (property, size int) {
	number := list.u8(0)
	size = oldSize(list)
	switch number {
	case 2:
		return paraStyle, size
	case 13:
		return paraNumbered, size
	case 24:
		return paraInTable, size
	case 25:
		return paraRowEnd, size
	case 65:
		return charDeleted, size
	case 85:
		return charBold, size
	case 86:
		return charItalic, size
	case 92:
		return charVanish, size
	case 93:
		return charFont, size
	case 117:
		return charSpecial, size
	case 186:
		return tableHeader, size
	case 190:
		return tableDefinition6, size
	}
	return 0, size
}

// oldSize returns the size of the value of a property of Word 6 or 95.
func oldSize(list view) int {
	switch number := list.u8(0); number {
	case 0, 83:
		return 0
	case 190:
		return list.u16(1) + 1
	case 3, 12, 15, 81, 103, 108, 188, 191:
		return 1 + list.u8(1)
	case 23:
		if list.u8(1) == 255 {
			deleted := list.u8(2)
			return 3 + 4*deleted + 3*list.u8(3+4*deleted)
		}
		return 1 + list.u8(1)
	case 20, 70, 74, 192, 194, 196, 200:
		return 4
	case 68, 193, 199:
		return 5
	case 73, 95, 136, 137:
		return 3
	case 120, 187:
		return 12
	default:
		if oldPairs[number/8]>>(number%8)&1 == 1 {
			return 2
		}
	}
	return 1
}

// oldPairs has a bit for each property of Word 6 and 95. The bit is set if the value has two bytes.
const oldPairs = "\x04\x00\x6F\xDC\xDF\xEF\x03\x00\x20\x01\x01\x20\x2B\x6E\x00\x1E\x00\x30\x33\x3C\xF3\x0F\xC0\x21\x68\x00\x00\x00\x00\x00\x00\x00"
