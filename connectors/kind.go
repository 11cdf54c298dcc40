package connectors

import "context"

// Kind describes one kind of connector.
type Kind struct {
	// Name is the connector type on the wire: lower case letters, digits and
	// underscores. Title and Description are for people.
	Name, Title, Description string
	// Aliases are further names accepted on input.
	Aliases []string
	// Options are the fields of config, Credentials those of credentials. The
	// fields in CommonOptions are part of every kind and not listed here.
	Options, Credentials []Option
	// Bounded says that a complete walk names every item, so that what is
	// missing from it is gone.
	Bounded bool
	// AcceptsFiles says that people upload the content to Magpie itself.
	AcceptsFiles bool
	// CheckSettings reports what no single option can: a field that needs
	// another one. It sees settings whose fields are valid one by one, and
	// returns an *OptionError. May be nil.
	CheckSettings func(s Settings) error
	// Webhook is how the platform tells of changes; nil for one that does not.
	Webhook *Webhook
	// New opens a source. It does not talk to it. A Kind taken from a Registry
	// validates the settings and fills in defaults before it calls New.
	New func(ctx context.Context, s Settings) (Source, error)
	// Attach opens a database in the same way. A kind has either New or Attach.
	Attach func(ctx context.Context, s Settings) (Database, error)
}

// OptionType is the type of an option's value.
type OptionType string

// The types of options. In configuration read from JSON they are a string, a
// whole number, true or false, and an array of strings.
const (
	TypeString     OptionType = "string"
	TypeInteger    OptionType = "integer"
	TypeBoolean    OptionType = "boolean"
	TypeStringList OptionType = "string_list"
)

// Option is one field of a connector's config or credentials.
type Option struct {
	// Name is the field's name on the wire. Title and Help are for people.
	Name, Title, Help string
	// Type is the type of the value; credentials are strings.
	Type OptionType
	// Required fields must be present and not empty.
	Required bool
	// Sensitive values are never shown again once they were given.
	Sensitive bool
	// Default is what an absent value means; nil means nothing.
	Default any
	// Example is a valid value, for forms and documentation.
	Example string
	// Choices, when not empty, are the only strings allowed.
	Choices []string
	// Min and Max bound an integer when Max is greater than Min.
	Min, Max int64
	// Check looks at a value of the right type (string, int64, bool or
	// []string) and returns an error that says what is wrong with it, without
	// repeating the value of a sensitive option. May be nil.
	Check func(value any) error
}

// Settings are what one connector was set up with.
type Settings struct {
	// ConnectorID identifies the connector; "" while it is only being tested.
	ConnectorID string
	// Config is decoded JSON: its numbers are float64, its lists []any.
	Config map[string]any
	// Credentials are the opened credentials.
	Credentials map[string]string
	// Notes are the walk's; nil while a connector is only being tested.
	Notes Notes
	// Turn waits until the next request may be made to the platform with these
	// credentials, whatever worker makes it, or returns a retryable error when
	// that takes long. Nil is at once.
	Turn func(ctx context.Context) error
}

// Wait is to be called before each request to a platform that counts them.
func (s Settings) Wait(ctx context.Context) error {
	if s.Turn == nil {
		return ctx.Err()
	}
	return s.Turn(ctx)
}

// String returns a string of the config, "" when it is absent.
func (s Settings) String(name string) string {
	text, _ := s.Config[name].(string)
	return text
}

// Integer returns a whole number of the config, 0 when it is absent.
func (s Settings) Integer(name string) int64 {
	number, _ := integerOf(s.Config[name])
	return number
}

// Boolean returns a flag of the config, false when it is absent.
func (s Settings) Boolean(name string) bool {
	flag, _ := s.Config[name].(bool)
	return flag
}

// Strings returns a list of the config, nil when it is absent.
func (s Settings) Strings(name string) []string {
	list, _ := stringsOf(s.Config[name])
	return list
}
