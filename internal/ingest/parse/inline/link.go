package inline

import "strings"

// Link returns a Markdown link, or only the label if the target is a place on the same page, a script, or too long.
func Link(label, target string) string {
	label = strings.TrimSpace(label)
	target = strings.TrimSpace(target)
	if target == "" || label == "" || target[0] == '#' || len(target) > MaxTarget || IsScriptURL(target) {
		return label
	}
	return "[" + label + "](" + EscapeTarget(target) + ")"
}

// MaxTarget is the longest link target, in bytes, that is kept.
const MaxTarget = 1000

// IsScriptURL reports whether a target has a scheme that leads to no page, such as javascript.
func IsScriptURL(target string) bool {
	scheme, _, found := strings.Cut(target, ":")
	if !found || len(scheme) > 12 {
		return false
	}
	switch strings.ToLower(scheme) {
	case "javascript", "data", "vbscript", "blob", "about":
		return true
	}
	return false
}

// EscapeTarget escapes the characters that would end a link target.
func EscapeTarget(target string) string {
	if !strings.ContainsAny(target, " ()\n\t<>") {
		return target
	}
	return strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "\n", "", "\t", "", "<", "%3C", ">", "%3E").Replace(target)
}

// linkLength returns the length of the link that text starts with, or 0.
func linkLength(text string) int {
	_, n := LinkLabel(text)
	return n
}

// MaxLinkBytes bounds the search for the parts of a link.
const MaxLinkBytes = 2000

// LinkLabel returns the label and the length of the link that text starts with: [label](target) or [label][name]. The
// length is 0 if there is none.
func LinkLabel(text string) (string, int) {
	end := ClosingBracket(text, '[', ']')
	if end == 0 || end+1 >= len(text) {
		return "", 0
	}
	label, rest := text[1:end], text[end+1:]
	switch rest[0] {
	case '(':
		if stop := ClosingBracket(rest, '(', ')'); stop > 0 {
			return label, end + 1 + stop + 1
		}
	case '[':
		if stop := ClosingBracket(rest, '[', ']'); stop > 0 {
			return label, end + 1 + stop + 1
		}
	}
	return "", 0
}

// ClosingBracket returns the index of the bracket that closes the first one of text, or 0.
func ClosingBracket(text string, open, shut byte) int {
	depth := 0
	for i := range min(len(text), MaxLinkBytes) {
		switch text[i] {
		case open:
			depth++
		case shut:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return 0
}

// IsAddress reports whether a target is a web or mail address.
func IsAddress(target string) bool {
	return strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:")
}
