package catalog

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/apierr"
)

// The most characters of what describes an agent or a template.
const (
	MaxName        = 200
	MaxDescription = 4000
	MaxPrompt      = 32000
	MaxGreeting    = 4000
)

// Name is a name without the blanks around it; an error that names the field
// when nothing remains, or it is too long, or has control characters.
func Name(field, name string, most int) (string, error) {
	name = strings.TrimSpace(name)
	switch {
	case name == "":
		return "", apierr.Invalid(field, "must not be blank")
	case utf8.RuneCountInString(name) > most:
		return "", apierr.Invalid(field, fmt.Sprintf("must have at most %d characters", most))
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return "", apierr.Invalid(field, "must not have control characters")
	}
	return name, nil
}

// Text checks a text that has to be there.
func Text(field, text string, most int) error {
	if strings.TrimSpace(text) == "" {
		return apierr.Invalid(field, "must not be blank")
	}
	return bounded(field, text, most)
}

// OptionalText checks a text that need not be there; nothing but blanks is
// nothing.
func OptionalText(field string, text *string, most int) (*string, error) {
	if text == nil || strings.TrimSpace(*text) == "" {
		return nil, nil //nolint:nilnil // absence is an answer here
	}
	return text, bounded(field, *text, most)
}

func bounded(field, text string, most int) error {
	switch {
	case utf8.RuneCountInString(text) > most:
		return apierr.Invalid(field, fmt.Sprintf("must have at most %d characters", most))
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return apierr.Invalid(field, "must be text without NUL characters")
	}
	return nil
}
