package memory

import (
	"regexp"
	"strings"
	"unicode"
)

// redaction replaces a credential.
const redaction = "[removed]"

// credentials match keys, tokens and passwords by their form.
var credentials = []*regexp.Regexp{
	regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*(?:PRIVATE KEY|CERTIFICATE)[A-Z0-9 ]*-----.*?(?:-----END [A-Z0-9 ]+-----|$)`),
	regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{2,}\.?[A-Za-z0-9_-]*`), // JSON Web Tokens
	regexp.MustCompile(`\b(?:AKIA|ASIA|AGPA|AIDA|AROA)[A-Z0-9]{12,}\b`),              // cloud access keys
	regexp.MustCompile(`\b(?:gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|xapp-|sk-|pk-|rk-|sk_|pk_|rk_|svc_[ps]k_|hf_|npm_|pypi-|dop_v1_|shpat_|SG\.|AIza|ya29\.|rt_)[A-Za-z0-9_.\-]{8,}`),
	regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+[A-Za-z0-9+/_.=\-]{12,}`),
	regexp.MustCompile(`(?i)\b[0-9a-f]{32,}\b`),
}

// urlPassword matches a password in a URL: scheme://user:password@host.
var urlPassword = regexp.MustCompile(`(?i)\b([a-z][a-z0-9+.\-]*://[^\s/:@]*):[^\s/@]+@`)

// namedCredential matches a value that is called a password, key or token.
var namedCredential = regexp.MustCompile(`(?i)((?:pass(?:word|phrase|code|wort)?|passwd|pwd|kennwort|mot de passe|contraseña|secret(?:[ _-]?key)?|(?:api|access|private|signing|encryption|license|ssh)[ _-]?key|(?:access|auth|api|refresh|session|bearer)?[ _-]?token|client[ _-]?secret|credentials?|pin(?:[ _-]?code)?|otp)["']?)(\s*(?:=|:=|:|->|=>)\s*|\s+(?:is|was|are|lautet|ist|est|es)\s*:?\s+)("[^"\n]+"|'[^'\n]+'|` + "`[^`\n]+`" + `|[^\s,;]+)`)

// longWord matches a word that is long enough to be a key.
var longWord = regexp.MustCompile(`[A-Za-z0-9+/_=\-]{24,}`)

// notCredentials are words that follow "the password is" without being a
// password.
const notCredentials = " a an the not no never none needed required optional stored kept set reset changed rotated managed shared empty missing wrong invalid valid expired unknown lost hidden private secret safe unsafe weak strong long short case at in on by from with for to of and or only always also still now then there here it this that sent given generated created checked asked available enforced encrypted hashed saved used derived made renewed disabled enabled must should can has have was were being been " +
	" nicht kein keine erforderlich nötig gespeichert im in bei der die das ein eine dans le la les en el "

// Scrub replaces what looks like a password, key or token by a mark. It reports
// false if nothing else is left. It prefers to remove too much.
func Scrub(text string) (string, bool) {
	out := text
	for _, c := range credentials {
		out = c.ReplaceAllString(out, redaction)
	}
	out = urlPassword.ReplaceAllString(out, "${1}:"+redaction+"@")
	out = namedCredential.ReplaceAllStringFunc(out, func(found string) string {
		parts := namedCredential.FindStringSubmatch(found)
		name, between, value := parts[1], parts[2], parts[3]
		plain := strings.ToLower(strings.TrimRight(value, ".!?)"))
		if value == redaction || strings.HasPrefix(value, redaction) || strings.Contains(notCredentials, " "+plain+" ") {
			return found
		}
		end := value[len(strings.TrimRight(value, ".!?)")):]
		return name + between + redaction + end
	})
	out = longWord.ReplaceAllStringFunc(out, func(found string) string {
		if looksRandom(found) {
			return redaction
		}
		return found
	})
	left := strings.ReplaceAll(out, redaction, "")
	return out, out == text || strings.ContainsFunc(left, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// looksRandom reports whether a word alternates between capitals, small letters
// and digits as keys do.
func looksRandom(s string) bool {
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
