package connectors

import (
	"context"
	"io"
)

// Kind describes one kind of connector.
type Kind struct {
	// Name is the connector type on the wire: lower case letters, digits and
	// underscores. Title and Description are for people.
	Name, Title, Description string
	// Aliases are further names accepted on input.
	Aliases []string
	// Category sorts the kinds for people.
	Category Category
	// Documentation is the address of what there is to read about the kind.
	Documentation string
	// Options are the fields of config, Credentials those of credentials. The
	// fields in CommonOptions are part of every kind and not listed here.
	Options, Credentials []Option
	// Bounded says that a complete walk names every item, so that what is
	// missing from it is gone.
	Bounded bool
	// Metered says that its sources report the content that they read themselves
	// (Settings.Fetched), because much of it is read by the walk and not all of it
	// becomes an item. Of others what Open and the items give is counted.
	Metered bool
	// AcceptsFiles says that people upload the content to Magpie itself.
	AcceptsFiles bool
	// Permissions says that the sources are a [PermissionLister].
	Permissions bool
	// Webhook is how the platform tells of changes; nil for one that does not.
	Webhook *Webhook
	// Pace is how fast the platform may be asked; the zero Pace is at will.
	Pace Pace
	// OAuth names the provider whose consent takes the place of credentials;
	// "" for none.
	OAuth string
	// CheckSettings reports what no single option can: a field that needs
	// another one. It sees settings whose fields are valid one by one, and
	// returns an *OptionError. May be nil.
	CheckSettings func(s Settings) error
	// New opens a source. It does not talk to it. A Kind taken from a Registry
	// validates the settings and fills in defaults before it calls New.
	New func(ctx context.Context, s Settings) (Source, error)
	// Attach opens a database for agents in the same way; such a kind has no
	// documents, and the filters do not concern it. A kind has either New or
	// Attach.
	Attach func(ctx context.Context, s Settings) (Database, error)
}

// AttachesDatabase reports whether the kind brings a database to agents, and no
// documents.
func (k Kind) AttachesDatabase() bool { return k.Attach != nil }

// Subscribes reports whether the platform can be asked for webhooks.
func (k Kind) Subscribes() bool { return k.Webhook != nil && k.Webhook.Subscribes }

// Pace is how many requests a platform takes, counted over all connectors with
// the same credentials and all workers.
type Pace struct {
	// PerMinute is how many requests are made in a minute, evenly; 0 is at will.
	PerMinute int
	// Burst is how many of them may come at once: 1 when it is 0.
	Burst int
}

// Category is what a kind is about.
type Category string

// The categories of kinds.
const (
	CategoryFiles         Category = "files"
	CategoryStorage       Category = "storage"
	CategoryCollaboration Category = "collaboration"
	CategoryDevelopment   Category = "development"
	CategoryCRM           Category = "crm"
	CategoryITSM          Category = "itsm"
	CategoryWeb           Category = "web"
	CategoryDatabase      Category = "database"
)

// OptionType is the type of an option's value.
type OptionType string

// The types of options. In configuration read from JSON they are a string, a
// whole number, true or false, an array of strings, and an object. Only
// [CommonOptions] have objects.
const (
	TypeString     OptionType = "string"
	TypeInteger    OptionType = "integer"
	TypeBoolean    OptionType = "boolean"
	TypeStringList OptionType = "string_list"
	TypeObject     OptionType = "object"
)

// Format is what a string looks like, for forms; it is not checked.
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

// Dependency says that an option matters only where another one of the same
// table has one of some values; without values, where it has any.
type Dependency struct {
	Option string
	Values []any
}

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
	// Destination says that the value decides where the credentials are sent, or
	// how well they are guarded on the way: a change of it asks for them again
	// ([Kind.Moved]). Choices of such an option go from the weakest to the
	// strongest. ApartFromGrants says that the token of an OAuth grant is not sent
	// there.
	Destination, ApartFromGrants bool
	// Default is what an absent value means; nil means nothing.
	Default any
	// Example is a valid value, for forms and documentation.
	Example string
	// Choices, when not empty, are the only strings allowed.
	Choices []string
	// Format is what a string, or the entries of a list, look like.
	Format Format
	// Multiline says that a text has several lines, as a private key does.
	Multiline bool
	// Group is the heading under which a form shows the field, "" for none;
	// Advanced says that it may hide the field at first.
	Group    string
	Advanced bool
	// DependsOn, when not empty, must all hold for the field to matter.
	DependsOn []Dependency
	// Fields are those of an object.
	Fields []Option
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
	// Token gives an access token of the OAuth grant that the connector works
	// with, and what the provider tells with it (such as Salesforce's
	// instance_url); nil for a connector without a grant. It is asked before each
	// use and renews by itself. refused is a token that the source did not accept
	// although it should have, else empty. Its errors say what a connector's
	// errors say: return them as they are.
	Token func(ctx context.Context, refused string) (token string, details map[string]string, err error)
	// Notes are what the source remembers; nil while a connector is only being tested.
	Notes Notes
	// Whole says that a walk has to name every item: a source that remembers which
	// of them it named lately may leave those out otherwise, where its kind is not
	// bounded. It is set for a full sync and for one of permissions.
	Whole bool
	// Turn waits until the next request may be made to the platform with these
	// credentials, whatever worker makes it, or returns a retryable error when
	// that takes long. Nil is at once. Call [Settings.Wait] instead.
	Turn func(ctx context.Context) error
	// Fetched is told how many bytes of content were read, as they come; nil: nobody
	// counts. Only sources of a metered kind call it.
	Fetched func(n int64)
}

// Meter is from, whose bytes are reported to Fetched as they are read.
func (s *Settings) Meter(from io.Reader) io.Reader {
	if s.Fetched == nil {
		return from
	}
	return &meter{from, s.Fetched}
}

type meter struct {
	from    io.Reader
	fetched func(int64)
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.from.Read(p)
	if n > 0 {
		m.fetched(int64(n))
	}
	return n, err
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
