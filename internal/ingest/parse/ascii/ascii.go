package ascii

// IsDigit reports whether c is a decimal digit.
func IsDigit(c byte) bool { return '0' <= c && c <= '9' }

// IsLetter reports whether c is a letter.
func IsLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// IsAlphanumeric reports whether c is a letter or a decimal digit.
func IsAlphanumeric(c byte) bool { return IsLetter(c) || IsDigit(c) }
