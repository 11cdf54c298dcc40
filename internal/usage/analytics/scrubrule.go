package analytics

import (
	"net/netip"
	"regexp"
	"strings"
)

// The patterns of personal data and credentials. RE2 takes linear time for every text. It
// has no lookaround, so that isWhole checks the neighbours of a match.
var (
	urlPattern      = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]{1,20}://[^\s<>"]+`)
	queryPattern    = regexp.MustCompile(`[^\s?]\?[^\s=?]{1,64}=[^\s]*`)
	emailPattern    = regexp.MustCompile(`(?i)(?:"[^"\s][^"]{0,62}"|[\p{L}\p{N}._%+'&/=!#$*~-]+)(?:@|%40)[\p{L}\p{N}](?:[\p{L}\p{N}-]*\.)+(?:xn--[a-z0-9-]+|\p{L}{2,})`)
	markedPattern   = regexp.MustCompile(`\b(?:eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]+\.?[A-Za-z0-9_-]*|(?:svc_[ps]k_|sk-|[sprw]k_(?:live|test)_|gh[a-z]_|github_pat_|glpat-|xox[a-z]-|ya29\.|AIza|AKIA|ASIA|hf_|npm_|SG\.)[A-Za-z0-9_.-]{6,})`)
	bearerPattern   = regexp.MustCompile(`(?i)\b(bearer|basic) +[A-Za-z0-9._~+/=-]{8,}`)
	assignedPattern = regexp.MustCompile(`(?i)\b((?:password|passwd|passwort|pwd|secret|token|api[_-]?key|access[_-]?key)["']?\s?[=:]\s?)["']?[^\s"'\[\]]+["']?`)
	uuidPattern     = regexp.MustCompile(`(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	macPattern      = regexp.MustCompile(`(?i)(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}`)
	ipv4Pattern     = regexp.MustCompile(`\d{1,3}(?:\.\d{1,3}){3,}`)
	ipv6Pattern     = regexp.MustCompile(`(?i)[0-9a-f:]*:[0-9a-f:]*:[0-9a-f:.]*`)
	ibanPattern     = regexp.MustCompile(`(?i)[a-z]{2}\d{2}(?:[ -]?[a-z0-9]){11,40}`)
	cardPattern     = regexp.MustCompile(`\d(?:[ -]?\d){12,}`)
	socialPattern   = regexp.MustCompile(`\d{3}-\d{2}-\d{4}|\d{3} \d{2} \d{4}|\b[A-CEGHJ-PR-TW-Za-ceghj-pr-tw-z]{2} ?\d{2} ?\d{2} ?\d{2} ?[A-Da-d]\b`)
	phonePattern    = regexp.MustCompile(`\+\(?\d(?:[ ()./-]{0,2}\d){6,14}|\(?\b0(?:[ ()/-]{0,2}\d){8,14}|\b0\d(?:\.\d{2}){4}|\(?\b\d{3}\)?[ .-]\d{3}[ .-]\d{4}`)
	digitsPattern   = regexp.MustCompile(`\d{9,}`)
	wordPattern     = regexp.MustCompile(`[A-Za-z0-9+/=~_-]{16,}`)
)

// rules returns the replacements in order. A pattern that may match a part of another one
// comes after it.
func rules() []func(string) string {
	return []func(string) string{
		scrubURLs, scrubTokens,
		replace(emailPattern, nil, "[email]"),
		replace(uuidPattern, isWhole, "[id]"),
		replace(macPattern, isWhole, "[mac]"),
		scrubIBANs,
		replace(ipv4Pattern, func(s, found string, at int) bool { return isWhole(s, found, at) && isIP(found) }, "[ip]"),
		replace(ipv6Pattern, func(s, found string, at int) bool { return isWhole(s, found, at) && isIP(found) }, "[ip]"),
		replace(socialPattern, isWhole, "[id]"),
		scrubCards,
		replace(phonePattern, isPhone, "[phone]"),
		replace(digitsPattern, nil, "[number]"),
		replace(wordPattern, func(_, found string, _ int) bool { return looksRandom(found) }, "[token]"),
	}
}

// replace returns a function that replaces the matches of a pattern that accept accepts;
// nil accepts all.
func replace(pattern *regexp.Regexp, accept func(s, found string, at int) bool, placeholder string) func(string) string {
	return func(s string) string {
		var out strings.Builder
		last := 0
		for _, at := range pattern.FindAllStringIndex(s, -1) {
			if accept != nil && !accept(s, s[at[0]:at[1]], at[0]) {
				continue
			}
			out.WriteString(s[last:at[0]])
			out.WriteString(placeholder)
			last = at[1]
		}
		if last == 0 {
			return s
		}
		out.WriteString(s[last:])
		return out.String()
	}
}

// isWhole reports whether a match is not a part of a longer word or number.
func isWhole(s, found string, at int) bool {
	end := at + len(found)
	if at > 0 && (isWordByte(s[at-1]) || s[at-1] == '.' && at > 1 && digit(s[at-2])) {
		return false
	}
	return end >= len(s) || !isWordByte(s[end]) && (s[end] != '.' || end+1 >= len(s) || !digit(s[end+1]))
}

func isWordByte(b byte) bool {
	return digit(b) || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || b == '_'
}

func digit(b byte) bool { return '0' <= b && b <= '9' }

// scrubURLs replaces the user and the query of URLs.
func scrubURLs(s string) string {
	s = urlPattern.ReplaceAllStringFunc(s, func(address string) string {
		scheme, rest, _ := strings.Cut(address, "://")
		end := strings.IndexAny(rest, "/?#")
		if end < 0 {
			end = len(rest)
		}
		host, rest := rest[:end], rest[end:]
		if at := strings.LastIndexByte(host, '@'); at >= 0 {
			host = "[user]@" + host[at+1:]
		}
		if at := strings.IndexAny(rest, "?#"); at >= 0 && len(rest) > at+1 {
			rest = rest[:at+1] + "[query]"
		}
		return scheme + "://" + host + rest
	})
	return queryPattern.ReplaceAllStringFunc(s, func(found string) string {
		before, _, _ := strings.Cut(found, "?")
		return before + "?[query]"
	})
}

// scrubTokens replaces tokens and passwords that a prefix or a name marks as such.
func scrubTokens(s string) string {
	s = markedPattern.ReplaceAllString(s, "[token]")
	s = bearerPattern.ReplaceAllString(s, "$1 [token]")
	return assignedPattern.ReplaceAllString(s, "$1[secret]")
}

// isIP reports whether text is an IP address. The text :: alone is not, and neither is a
// version number with more than four parts.
func isIP(text string) bool {
	if strings.Trim(text, ":.") == "" {
		return false
	}
	for _, candidate := range []string{text, strings.TrimRight(text, ".:")} {
		if _, err := netip.ParseAddr(candidate); err == nil {
			return true
		}
	}
	return false
}

// scrubIBANs replaces account numbers with valid check digits. The pattern may also match
// words after the number, so that the longest valid prefix is replaced.
func scrubIBANs(s string) string {
	var out strings.Builder
	for {
		at := ibanPattern.FindStringIndex(s)
		if at == nil {
			break
		}
		begin, end := at[0], 0
		if begin == 0 || !isWordByte(s[begin-1]) {
			end = ibanEnd(s[begin:at[1]])
			if end > 0 && begin+end < len(s) && isWordByte(s[begin+end]) {
				end = 0
			}
		}
		if end == 0 {
			out.WriteString(s[:begin+1]) // try again after its first letter
			s = s[begin+1:]
			continue
		}
		out.WriteString(s[:begin])
		out.WriteString("[iban]")
		s = s[begin+end:]
	}
	out.WriteString(s)
	return out.String()
}

// ibanEnd returns the length of the account number at the start of s; 0 for none.
func ibanEnd(s string) int {
	best, count := 0, 0
	remainder, front := 0, 0
	// The checksum has the first four characters at the end (ISO 13616).
	for i := range len(s) {
		c := s[i]
		if !isWordByte(c) {
			continue
		}
		count++
		if count <= 4 {
			front = appendIBAN(front, c) // up to six digits
			continue
		}
		remainder = appendIBAN(remainder, c) % 97
		whole := i+1 == len(s) || !isWordByte(s[i+1])
		if count >= 15 && count <= 34 && whole && (remainder*1000000+front)%97 == 1 {
			best = i + 1
		}
	}
	return best
}

// appendIBAN appends the value of a character to a number: A is 10, Z is 35.
func appendIBAN(n int, c byte) int {
	switch {
	case digit(c):
		return n*10 + int(c-'0')
	case c == '_':
		return n * 10 // not part of account numbers
	default:
		return n*100 + int(c|0x20-'a') + 10
	}
}

// scrubCards replaces numbers of 13 to 19 digits, with or without separators, that have a
// valid check digit of payment cards.
func scrubCards(s string) string {
	return replace(cardPattern, func(_, found string, _ int) bool {
		groups := strings.FieldsFunc(found, func(r rune) bool { return r < '0' || r > '9' })
		for i := range groups {
			digits := ""
			for _, group := range groups[i:] {
				if digits += group; len(digits) > 19 {
					break
				}
				if len(digits) >= 13 && luhn(digits) {
					return true
				}
			}
		}
		return false
	}, "[card]")(s)
}

func luhn(digits string) bool {
	sum := 0
	for i := range len(digits) {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// isPhone reports whether a match is a whole number of 7 to 15 digits.
func isPhone(s, found string, at int) bool {
	n := 0
	for _, b := range []byte(found) {
		if digit(b) {
			n++
		}
	}
	return n >= 7 && n <= 15 && (found[0] == '+' || isWhole(s, found, at))
}

// looksRandom reports whether a word, or a part of it between separators, looks generated:
// letters and digits, or lower and upper case, alternate often.
func looksRandom(word string) bool {
	if len(word) >= 64 {
		return true
	}
	if partLooksRandom(word) {
		return true
	}
	for part := range strings.FieldsFuncSeq(word, func(r rune) bool { return strings.ContainsRune("_-/=+~", r) }) {
		if partLooksRandom(part) {
			return true
		}
	}
	return false
}

func partLooksRandom(word string) bool {
	digits, lower, upper, changes, cases := 0, 0, 0, 0, 0
	hex := true
	var last byte
	for _, b := range []byte(word) {
		kind := byte('a')
		switch {
		case digit(b):
			kind = '0'
			digits++
		case 'a' <= b && b <= 'z':
			lower++
			hex = hex && b <= 'f'
		case 'A' <= b && b <= 'Z':
			kind = 'A'
			upper++
			hex = hex && b <= 'F'
		default: // a separator
			last = 0
			continue
		}
		switch {
		case last == 0 || kind == last:
		case kind == '0' || last == '0':
			changes++
		default:
			cases++
		}
		last = kind
	}
	letters := lower + upper
	n := digits + letters
	switch {
	case n < 16:
		return false
	case hex && digits > 0 && letters > 0:
		return true
	case digits >= 3 && letters >= 3 && changes >= 4:
		return true
	default: // names in CamelCase have fewer upper case letters
		return n >= 20 && upper*10 >= n*3 && lower*10 >= n*3 && cases*3 >= n
	}
}
