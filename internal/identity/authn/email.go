package authn

import (
	"fmt"
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/apierr/check"
)

// The maximum lengths of an email address and its local part in bytes (RFC 5321,
// 4.5.3.1).
const (
	maxEmail = 254
	maxLocal = 64
)

// CleanEmail returns the canonical form of an email address: lower case, composed
// characters, the host as browsers write it. The error names the field.
func CleanEmail(email string) (string, error) {
	refused := apierr.Invalid("email", "must be an email address")
	valid := check.Printable(email) // ToLower would hide invalid text
	email = strings.ToLower(norm.NFC.String(strings.TrimSpace(email)))
	if !valid || strings.ContainsFunc(email, invisible) {
		return "", refused
	}
	at := strings.LastIndexByte(email, '@')
	if at < 1 || at > maxLocal {
		return "", refused
	}
	host, ok := canonicalHost(email[at+1:])
	if !ok {
		return "", refused
	}
	email = email[:at+1] + host
	if parsed, err := mail.ParseAddress(email); err != nil || parsed.Address != email || len(email) > maxEmail {
		return "", refused
	}
	return email, nil
}

// CleanName trims and checks the name of a person or a workspace: at most 200
// characters, some of them visible. Only an optional name may be empty. The error
// names the field.
func CleanName(field, name string, optional bool) (string, error) {
	name = norm.NFC.String(strings.TrimSpace(name))
	switch {
	case !check.Printable(name):
		return "", apierr.Invalid(field, "must not have control characters")
	case name == "" && optional:
		return "", nil
	case strings.TrimFunc(name, invisible) == "":
		return "", apierr.Invalid(field, "must not be blank")
	case utf8.RuneCountInString(name) > check.MaxName:
		return "", apierr.Invalid(field, fmt.Sprintf("must have at most %d characters", check.MaxName))
	}
	return name, nil
}

// invisible reports whether a character shows nothing: white space, and marks such
// as the zero width space or changes of the writing direction.
func invisible(r rune) bool {
	return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) || r == '\u115f' || r == '\u1160' || r == '\u2800' || r == '\u3164' || r == '\uffa0'
}
