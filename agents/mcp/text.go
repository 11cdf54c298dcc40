package mcp

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/safetext"
)

// Limits of texts that servers choose, in characters.
const (
	maxTitle       = 200
	maxDescription = 1000
	maxParameter   = 300 // the description of a parameter
	maxFailure     = 2000
)

// clean removes characters of a text that people do not see: controls, marks that
// change the direction of text, and tags. Line breaks and tabs stay, and so do the
// joiners that some scripts need.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', r == '\u200c', r == '\u200d':
			return r
		case r == '\u2028', r == '\u2029', r == '\u0085':
			return '\n'
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError || !unicode.IsPrint(r):
			return -1
		default:
			return r
		}
	}, text)
}

// describe returns a description as models see it.
func describe(text string, limit int) string {
	return safetext.Truncate(strings.TrimSpace(clean(text)), limit)
}

// cleanSchema cleans the descriptions in a JSON schema.
func cleanSchema(schema any) any {
	switch schema := schema.(type) {
	case map[string]any:
		cleaned := make(map[string]any, len(schema))
		for name, value := range schema {
			text, isText := value.(string)
			switch {
			case isText && (name == "description" || name == "title" || name == "$comment"):
				cleaned[name] = describe(text, maxParameter)
			default:
				cleaned[name] = cleanSchema(value)
			}
		}
		return cleaned
	case []any:
		cleaned := make([]any, len(schema))
		for i, value := range schema {
			cleaned[i] = cleanSchema(value)
		}
		return cleaned
	default:
		return schema
	}
}
