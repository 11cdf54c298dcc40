package rest

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/apierr/check"
)

// kind is the type of a value in requests.
type kind uint8

const (
	text        kind = iota
	uid              // a UUID
	integer          // a whole number
	number           // any number
	boolean          // true or false
	textList         // an array of strings
	uuidList         // an array of UUIDs; in bodies only
	date             // YYYY-MM-DD
	timestamp        // RFC 3339
	group            // an object with known fields
	objects          // an array of objects with known fields; in bodies only
	freeObject       // an object with any fields
	freeObjects      // an array of objects with any fields; in bodies only
)

// field is a field of a body or a query parameter.
type field struct {
	name     string // in requests
	variable string // the dotted path in the operation's variables, or within the item of an array; empty for a group
	kind     kind
	required bool
	// unless names another field that makes this one optional.
	unless string
	// nullable passes null on, which clears the value. Otherwise null is equal to a
	// missing field.
	nullable bool
	// single is the variable of a single item whose fields replace the array; empty
	// when only the array is allowed.
	single      string
	fields      []field  // of a group or an array's items
	closed      bool     // a group must not have other fields
	maxItems    int      // of an array or list
	allowed     []string // the allowed values of a text or of a list's items
	uuids       bool     // the items of a list are UUIDs
	commas      bool     // the query parameter of a list is one text with commas
	enum        bool     // the values are those of a GraphQL enum in lower case
	list        bool     // the variable is a list, which gets one item
	bounds      *bounds  // of a number
	maxLength   int      // characters of a text; 0 means no limit
	nonEmpty    bool     // a text must not be blank, a list not empty
	format      *format  // of a text
	description string   // for the OpenAPI document; default from the schema
}

// format is a pattern for texts.
type format struct {
	pattern *regexp.Regexp // anchored at both ends
	problem string         // the message when it does not match
}

// bounds is an inclusive range of numbers.
type bounds struct{ low, high float64 }

func between(low, high float64) *bounds { return &bounds{low, high} }

// check returns the problem of a number, or "".
func (b *bounds) check(value any) string {
	var n float64
	switch value := value.(type) {
	case int64:
		n = float64(value)
	case float64:
		n = value
	}
	switch {
	case n >= b.low && n <= b.high:
		return ""
	case b.high == math.MaxInt32:
		return fmt.Sprintf("must be %v or more, and at most %d", b.low, math.MaxInt32)
	default:
		return fmt.Sprintf("must be between %v and %v", b.low, b.high)
	}
}

// checkItem returns the problem of an item of a list, or "".
func (f *field) checkItem(s string) (problem string) {
	if problem := check.Unstorable(s); problem != "" {
		return problem
	}
	switch _, isID := parseUUID(s); {
	case f.uuids && !isID:
		return "must be a UUID"
	case f.allowed != nil && !slices.Contains(f.allowed, s):
		return "must be one of " + strings.Join(f.allowed, ", ")
	case f.format != nil && !f.format.pattern.MatchString(s):
		return f.format.problem
	default:
		return ""
	}
}

// check returns the problem of a value of the right kind, or "". The schema of the
// OpenAPI document must have the same constraints.
func (f *field) check(value any) (problem string) {
	s, isText := value.(string)
	list, isList := value.([]any)
	switch {
	case isList && f.maxItems > 0 && len(list) > f.maxItems:
		return fmt.Sprintf("must have at most %d values", f.maxItems)
	case isText && f.allowed != nil && !slices.Contains(f.allowed, s):
		return "must be one of " + strings.Join(f.allowed, ", ")
	case f.bounds != nil:
		return f.bounds.check(value)
	case isText && f.maxLength > 0 && utf8.RuneCountInString(s) > f.maxLength:
		return fmt.Sprintf("must have at most %d characters", f.maxLength)
	case isText && f.nonEmpty && strings.TrimSpace(s) == "":
		return "must not be blank"
	case isText && f.format != nil && !f.format.pattern.MatchString(s):
		return f.format.problem
	case isList && f.nonEmpty && len(list) == 0:
		return "must name at least one"
	default:
		return ""
	}
}
