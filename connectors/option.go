package connectors

// An Option is one field of a connector's config or credentials.
type Option struct {
	// Name is the field's name on the wire. Title and Help are for people.
	Name, Title, Help string
	// Type is the type of the value. Credentials are strings.
	Type OptionType
	// Required fields must be present and not empty while their DependsOn holds.
	Required bool
	// Sensitive values are never shown again. Only credentials can be sensitive.
	Sensitive bool
	// Destination says that the value decides where the credentials are sent or
	// how they are protected on the way. A change of it requires that they are
	// entered again ([Kind.ChangedDestination]). Choices of such an option are in
	// order, from the weakest protection to the strongest.
	Destination bool
	// NoGrantToken says that the token of an OAuth grant is not sent to this
	// destination.
	NoGrantToken bool
	// Default is the value of an absent field, nil for none.
	Default any
	// Example is a valid value, for forms and documentation.
	Example string
	// Choices, if not empty, are the only strings allowed.
	Choices []string
	// Format is a hint for forms about the strings. It is not checked.
	Format Format
	// Multiline says that a string has several lines, as a private key does.
	Multiline bool
	// Group is the heading of the field in a form, "" for none. A form may hide
	// Advanced fields at first.
	Group    string
	Advanced bool
	// DependsOn are the conditions under which the field matters. All must hold.
	DependsOn []Dependency
	// Fields are the fields of an object.
	Fields []Option
	// Min and Max bound an integer if Max is greater than Min.
	Min, Max int64
	// Check checks a value of the right type: a string, int64, bool or []string. Its
	// error says what is wrong, without the value of a sensitive option. It may be
	// nil.
	Check func(value any) error
}

// A Dependency is a condition on another option of the same table: that it has
// one of Values or, if there are no Values, that it has any value.
type Dependency struct {
	Option string
	Values []any
}

// An OptionType is the type of an option's value.
type OptionType string

// The types of options. In JSON they are a string, a whole number, true or
// false, an array of strings, and an object. Only [CommonOptions] have objects.
const (
	TypeString     OptionType = "string"
	TypeInteger    OptionType = "integer"
	TypeBoolean    OptionType = "boolean"
	TypeStringList OptionType = "string_list"
	TypeObject     OptionType = "object"
)

// A Format describes strings for forms.
type Format string

// The formats of strings.
const (
	FormatURL      Format = "url"
	FormatHostname Format = "hostname"
	FormatDate     Format = "date"     // a day or a time
	FormatDuration Format = "duration" // 30d
	FormatPattern  Format = "pattern"  // of package glob
	FormatEmail    Format = "email"
)
