package memory

import (
	"regexp"
	"strings"
	"unicode"
)

// removed stands where a credential was.
const removed = "[removed]"

// credentials are texts that are keys, tokens or passwords by their look.
var credentials = []*regexp.Regexp{
	regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*(?:PRIVATE KEY|CERTIFICATE)[A-Z0-9 ]*-----.*?(?:-----END [A-Z0-9 ]+-----|$)`),
	regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{2,}\.?[A-Za-z0-9_-]*`), // JSON Web Tokens
	regexp.MustCompile(`\b(?:AKIA|ASIA|AGPA|AIDA|AROA)[A-Z0-9]{12,}\b`),              // cloud access keys
	regexp.MustCompile(`\b(?:gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|xapp-|sk-|pk-|rk-|sk_|pk_|rk_|svc_[ps]k_|hf_|npm_|pypi-|dop_v1_|shpat_|SG\.|AIza|ya29\.|rt_)[A-Za-z0-9_.\-]{8,}`),
	regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+[A-Za-z0-9+/_.=\-]{12,}`),
	regexp.MustCompile(`(?i)\b[0-9a-f]{32,}\b`),
}

// inAddress is a password in an address: scheme://user:password@host.
var inAddress = regexp.MustCompile(`(?i)\b([a-z][a-z0-9+.\-]*://[^\s/:@]*):[^\s/@]+@`)

// named is a value that is called a password, key or token.
var named = regexp.MustCompile(`(?i)((?:pass(?:word|phrase|code|wort)?|passwd|pwd|kennwort|mot de passe|contraseña|secret(?:[ _-]?key)?|(?:api|access|private|signing|encryption|license|ssh)[ _-]?key|(?:access|auth|api|refresh|session|bearer)?[ _-]?token|client[ _-]?secret|credentials?|pin(?:[ _-]?code)?|otp)["']?)(\s*(?:=|:=|:|->|=>)\s*|\s+(?:is|was|are|lautet|ist|est|es)\s*:?\s+)("[^"\n]+"|'[^'\n]+'|` + "`[^`\n]+`" + `|[^\s,;]+)`)

// word is a run without blanks.
var word = regexp.MustCompile(`[A-Za-z0-9+/_=\-]{24,}`)

// ordinary are words that follow "the password is" without being one.
const ordinary = " a an the not no never none needed required optional stored kept set reset changed rotated managed shared empty missing wrong invalid valid expired unknown lost hidden private secret safe unsafe weak strong long short case at in on by from with for to of and or only always also still now then there here it this that sent given generated created checked asked available enforced encrypted hashed saved used derived made renewed disabled enabled must should can has have was were being been " +
	" nicht kein keine erforderlich nötig gespeichert im in bei der die das ein eine dans le la les en el "

// Scrub takes what looks like a password, key or token out of a text and marks
// the place; false when nothing else is left of it. It errs on the side of
// taking out too much.
func Scrub(text string) (string, bool) {
	out := text
	for _, c := range credentials {
		out = c.ReplaceAllString(out, removed)
	}
	out = inAddress.ReplaceAllString(out, "${1}:"+removed+"@")
	out = named.ReplaceAllStringFunc(out, func(found string) string {
		parts := named.FindStringSubmatch(found)
		name, between, value := parts[1], parts[2], parts[3]
		plain := strings.ToLower(strings.TrimRight(value, ".!?)"))
		if value == removed || strings.HasPrefix(value, removed) || strings.Contains(ordinary, " "+plain+" ") {
			return found
		}
		end := value[len(strings.TrimRight(value, ".!?)")):]
		return name + between + removed + end
	})
	out = word.ReplaceAllStringFunc(out, func(found string) string {
		if random(found) {
			return removed
		}
		return found
	})
	left := strings.ReplaceAll(out, removed, "")
	return out, out == text || strings.ContainsFunc(left, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// random says that a long word is none: it mixes capitals, small letters and
// digits again and again.
func random(s string) bool {
	var upper, lower, digit, changes int
	last := 0
	for _, r := range s {
		class := 0
		switch {
		case r >= 'A' && r <= 'Z':
			upper++
			class = 1
		case r >= 'a' && r <= 'z':
			lower++
			class = 2
		case r >= '0' && r <= '9':
			digit++
			class = 3
		}
		if class != 0 && last != 0 && class != last {
			changes++
		}
		last = class
	}
	return upper > 0 && lower > 0 && digit > 1 && changes*5 >= len(s)
}
