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
	// nullable hands an explicit null on: it clears the value. Otherwise null
	// is the same as leaving the field out.
	nullable bool
	// alone is where the one item of an array goes whose fields are given in the
	// place of the array's name; empty where that cannot be.
	alone   string
	most    int              // items of an array
	fields  []field          // of a group or of the items of an array
	allowed []string         // the only values of a text
	upper   bool             // the values of allowed are an enum's, upper case in GraphQL
	list    bool             // the operation takes a list; the one value is put into it
	check   func(any) string // what is wrong with a value of the right kind; empty when nothing is
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
