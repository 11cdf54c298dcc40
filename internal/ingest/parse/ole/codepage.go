package ole

// codePageOf returns the Windows code page of a language id (MS-LCID). It depends on the primary language, and for
// languages with several scripts on the whole id.
func codePageOf(language int) int {
	switch language {
	case 0x0404, 0x0C04, 0x1404:
		return 950
	case 0x0C1A, 0x201A:
		return 1251
	}
	switch language & 0x3FF {
	case 0x01, 0x20, 0x29:
		return 1256
	case 0x02, 0x19, 0x22, 0x23, 0x2F, 0x3F, 0x40, 0x44:
		return 1251
	case 0x04:
		return 936
	case 0x05, 0x0E, 0x15, 0x18, 0x1A, 0x1B, 0x1C, 0x24:
		return 1250
	case 0x08:
		return 1253
	case 0x0D:
		return 1255
	case 0x11:
		return 932
	case 0x12:
		return 949
	case 0x1E:
		return 874
	case 0x1F, 0x2C:
		return 1254
	case 0x25, 0x26, 0x27:
		return 1257
	case 0x2A:
		return 1258
	}
	return 1252
}
