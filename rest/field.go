package rest

// kind is what a value has to be on the wire.
type kind uint8

const (
	text     kind = iota
	uid           // a UUID
	integer       // a whole number
	number        // any number
	boolean       // true or false
	texts         // an array of strings
	date          // a day, YYYY-MM-DD
	group         // an object with the fields of the table
	anything      // an object with any content
)

// field is one input of a route, in its body or its query string.
type field struct {
	name     string // on the wire
	variable string // where it goes in the operation's variables, dotted; empty for a group
	kind     kind
	required bool
	// nullable hands an explicit null on: it clears the value. Otherwise null
	// is the same as leaving the field out.
	nullable bool
	fields   []field          // of a group
	allowed  []string         // the only values of a text
	upper    bool             // the values of allowed are an enum's, upper case in GraphQL
	list     bool             // the operation takes a list; the one value is put into it
	check    func(any) string // what is wrong with a value of the right kind; empty when nothing is
}

// between checks a number's range, both ends included.
func between(low, high float64, message string) func(any) string {
	return func(v any) string {
		var n float64
		switch v := v.(type) {
		case int64:
			n = float64(v)
		case float64:
			n = v
		}
		if n < low || n > high {
			return message
		}
		return ""
	}
}
