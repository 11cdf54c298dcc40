package check

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/apierr"
)

// The longest name and description, in characters.
const (
	MaxName        = 200
	MaxDescription = 4000
)

// Name returns name without surrounding white space. It must not be blank, have
// more than [MaxName] characters, or contain control characters.
func Name(field, name string) (string, error) { return Label(field, name, MaxName) }

// Label is like [Name], with a limit of its own.
func Label(field, text string, limit int) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return "", apierr.Invalid(field, "must not be blank")
	}
	if err := maxLength(field, text, limit); err != nil {
		return "", err
	}
	if !Printable(text) {
		return "", apierr.Invalid(field, "must not have control characters")
	}
	return text, nil
}

// Line returns text with runs of white space replaced by single spaces. It must not
// be blank or have more than limit characters.
func Line(field, text string, limit int) (string, error) {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return "", apierr.Invalid(field, "must not be blank")
	}
	return text, maxLength(field, text, limit)
}

// Description checks an optional description: [MaxDescription] characters of
// text without NUL.
func Description(field string, text *string) error {
	if text == nil {
		return nil
	}
	return Length(field, *text, MaxDescription)
}

// Optional checks an optional text, and returns nil in the place of a blank one.
func Optional(field string, text *string, limit int) (*string, error) {
	if text != nil && strings.TrimSpace(*text) == "" {
		text = nil
	}
	if text == nil {
		return text, nil
	}
	return text, Length(field, *text, limit)
}

// Text checks a text that must not be blank.
func Text(field, text string, limit int) error {
	if strings.TrimSpace(text) == "" {
		return apierr.Invalid(field, "must not be blank")
	}
	return Length(field, text, limit)
}

// Length checks that text has at most limit characters and is [Storable].
func Length(field, text string, limit int) error {
	if err := maxLength(field, text, limit); err != nil {
		return err
	}
	return Storable(field, text)
}

// Storable checks that PostgreSQL can store a text.
func Storable(field, text string) error {
	if problem := Unstorable(text); problem != "" {
		return apierr.Invalid(field, problem)
	}
	return nil
}

// Unstorable returns why PostgreSQL cannot store a text, or the texts and names of a
// JSON value, in words that follow the name of a field. It returns "" if it can.
func Unstorable(value any) (problem string) {
	switch value := value.(type) {
	case string:
		if !utf8.ValidString(value) {
			return "must be UTF-8 text"
		}
		if strings.ContainsRune(value, 0) {
			return "must not contain the character U+0000"
		}
	case []any:
		for _, item := range value {
			if problem := Unstorable(item); problem != "" {
				return problem
			}
		}
	case map[string]any:
		for key, item := range value {
			if problem := cmp.Or(Unstorable(key), Unstorable(item)); problem != "" {
				return problem
			}
		}
	}
	return ""
}

func maxLength(field, text string, limit int) error {
	if utf8.RuneCountInString(text) > limit {
		return apierr.Invalid(field, fmt.Sprintf("must have at most %d characters", limit))
	}
	return nil
}

// Printable reports whether text is valid UTF-8 without control characters.
func Printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}
