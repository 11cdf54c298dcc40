package rest

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// kind is what a value has to be on the wire.
type kind uint8

const (
	text     kind = iota
	uid           // a UUID
	integer       // a whole number
	number        // any number
	boolean       // true or false
	texts         // an array of strings
	uids          // an array of UUIDs; in bodies only
	date          // a day, YYYY-MM-DD
	moment        // a moment, as in RFC 3339
	group         // an object with the fields of the table
	objects       // an array of objects with the fields of the table; in bodies only
	anything      // an object with any content
)

// field is one input of a route, in its body or its query string.
type field struct {
	name     string // on the wire
	variable string // where it goes in the operation's variables, dotted; empty for a group, inside an array from the item on
	kind     kind
	required bool
	// unless names the field in whose presence this one is not required.
	unless string
	// nullable hands an explicit null on: it clears the value. Otherwise null
	// is the same as leaving the field out.
	nullable bool
	// alone is where the one item of an array goes whose fields are given in the
	// place of the array's name; empty where that cannot be.
	alone   string
	fields  []field  // of a group or of the items of an array
	closed  bool     // a group with other fields than these is refused
	most    int      // items of an array or list
	allowed []string // the only values of a text, or of a list's
	ids     bool     // a list's are UUIDs
	commas  bool     // of a list: in a query string one text has several, with commas between
	upper   bool     // the values of allowed are an enum's, upper case in GraphQL
	list    bool     // the operation takes a list; the one value is put into it
	bounds  *bounds  // of a number
	longest int      // the most characters of a text; 0 is no bound
	filled  bool     // a text must not be blank, a list not be empty
	form    *form    // of a text
	about   string   // for the interface's description, where the schema says nothing
}

// form is what a text must look like.
type form struct {
	pattern *regexp.Regexp // anchored at both ends
	wrong   string         // said of one that does not
}

// bounds are a number's, both included.
type bounds struct{ low, high float64 }

func between(low, high float64) *bounds { return &bounds{low, high} }

// wrong says what is wrong with a number; empty when nothing is.
func (b *bounds) wrong(value any) string {
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

// examineItem checks one text of a list against the field's own rules.
func (f *field) examineItem(s string) (wrong string) {
	if wrong := badText(s); wrong != "" {
		return wrong
	}
	switch _, isID := parseUUID(s); {
	case f.ids && !isID:
		return "must be a UUID"
	case f.allowed != nil && !slices.Contains(f.allowed, s):
		return "must be one of " + strings.Join(f.allowed, ", ")
	case f.form != nil && !f.form.pattern.MatchString(s):
		return f.form.wrong
	default:
		return ""
	}
}

// examine checks a value of the right kind against the field's own rules.
// What it refuses, the interface's description has to refuse, too.
func (f *field) examine(value any) (wrong string) {
	s, isText := value.(string)
	list, isList := value.([]any)
	switch {
	case isList && f.most > 0 && len(list) > f.most:
		return fmt.Sprintf("must have at most %d values", f.most)
	case isText && f.allowed != nil && !slices.Contains(f.allowed, s):
		return "must be one of " + strings.Join(f.allowed, ", ")
	case f.bounds != nil:
		return f.bounds.wrong(value)
	case isText && f.longest > 0 && utf8.RuneCountInString(s) > f.longest:
		return fmt.Sprintf("must have at most %d characters", f.longest)
	case isText && f.filled && strings.TrimSpace(s) == "":
		return "must not be blank"
	case isText && f.form != nil && !f.form.pattern.MatchString(s):
		return f.form.wrong
	case isList && f.filled && len(list) == 0:
		return "must name at least one"
	default:
		return ""
	}
}
