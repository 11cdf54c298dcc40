package connectors

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxValueBytes  = 8192
	maxListEntries = 1000
)

// OptionError says which field of a connector's settings is wrong, and why.
type OptionError struct {
	// Field is the path of the field: config.bucket, credentials.accessKeyId.
	Field string
	// Message says what is wrong and what to do. It never holds a credential.
	Message string
}

func (e *OptionError) Error() string { return e.Field + ": " + e.Message }

// Validate reports the first thing that is wrong with a connector's settings as
// an *OptionError: a field that does not exist, a value of the wrong type or out
// of range, a required field that is missing.
func (k Kind) Validate(config map[string]any, credentials map[string]string) error {
	return k.Check(Settings{Config: config, Credentials: credentials})
}

// Check is Validate for settings that may come with an OAuth grant, whose Token
// is not called.
func (k Kind) Check(s Settings) error {
	config, credentials := s.Config, s.Credentials
	options := slices.Concat(k.Options, CommonOptions())
	if err := unknownField("config", slices.Collect(maps.Keys(config)), options); err != nil {
		return err
	}
	if err := unknownField("credentials", slices.Collect(maps.Keys(credentials)), k.Credentials); err != nil {
		return err
	}
	for _, option := range options {
		if err := option.validate("config."+option.Name, config[option.Name]); err != nil {
			return err
		}
	}
	for _, option := range k.Credentials {
		var value any
		if text, ok := credentials[option.Name]; ok {
			value = text
		}
		if err := option.validate("credentials."+option.Name, value); err != nil {
			return err
		}
	}
	if _, err := ParseFilters(config); err != nil {
		return err
	}
	if config[permissionsField] == true && !k.Permissions {
		// Taken for granted, the option would show to all what few may see.
		return &OptionError{Field: "config." + permissionsField, Message: "connectors of the type " + k.Name + " cannot import permissions"}
	}
	if config[SubscriptionField] == true && !k.Subscribes() {
		return &OptionError{Field: "config." + SubscriptionField, Message: "connectors of the type " + k.Name + " cannot ask for webhooks"}
	}
	if k.CheckSettings != nil {
		return k.CheckSettings(s)
	}
	return nil
}

// withDefaults returns settings in which absent fields have their default.
func (k Kind) withDefaults(s Settings) Settings {
	config := maps.Clone(s.Config)
	if config == nil {
		config = map[string]any{}
	}
	for _, option := range slices.Concat(k.Options, CommonOptions()) {
		if option.absent(config[option.Name]) && option.Default != nil {
			config[option.Name] = option.Default
		}
	}
	s.Config = config
	return s
}

func unknownField(place string, given []string, options []Option) error {
	var known []string
	for _, option := range options {
		known = append(known, option.Name)
	}
	slices.Sort(known)
	slices.Sort(given)
	for _, name := range given {
		if !slices.Contains(known, name) {
			message := "unknown field; there are none here"
			if len(known) > 0 {
				message = "unknown field; known ones are " + strings.Join(known, ", ")
			}
			return &OptionError{Field: place + "." + printable(name), Message: message}
		}
	}
	return nil
}

// absent reports whether a value counts as not given: JSON null does, and so
// does an empty string, since forms send one for a field left blank.
func (o Option) absent(value any) bool {
	return value == nil || (o.Type == TypeString && value == "")
}

// validate checks one value.
func (o Option) validate(field string, value any) error {
	wrong := func(format string, arguments ...any) error {
		return &OptionError{Field: field, Message: fmt.Sprintf(format, arguments...)}
	}
	if o.absent(value) {
		if o.Required {
			return wrong("required%s", exampleOf(o))
		}
		return nil
	}
	var checked any
	switch o.Type {
	case TypeString:
		text, ok := value.(string)
		if !ok {
			return wrong("must be a string, not %s", jsonTypeOf(value))
		}
		if reason := badText(text); reason != "" {
			return wrong("%s", reason)
		}
		if len(o.Choices) > 0 && !slices.Contains(o.Choices, text) {
			return wrong("must be one of %s", strings.Join(o.Choices, ", "))
		}
		checked = text
	case TypeInteger:
		number, ok := integerOf(value)
		if !ok {
			return wrong("must be a whole number, not %s", jsonTypeOf(value))
		}
		if o.Max > o.Min && (number < o.Min || number > o.Max) {
			return wrong("must be from %d to %d", o.Min, o.Max)
		}
		checked = number
	case TypeBoolean:
		flag, ok := value.(bool)
		if !ok {
			return wrong("must be true or false, not %s", jsonTypeOf(value))
		}
		checked = flag
	case TypeStringList:
		list, reason := stringsOf(value)
		if reason != "" {
			return wrong("%s", reason)
		}
		if o.Required && len(list) == 0 {
			return wrong("required: name at least one%s", exampleOf(o))
		}
		for _, entry := range list {
			if len(o.Choices) > 0 && !slices.Contains(o.Choices, entry) {
				return wrong("each must be one of %s", strings.Join(o.Choices, ", "))
			}
		}
		checked = list
	case TypeObject:
		return nil // ParseFilters looks at the only one there is
	default:
		return wrong("has the unknown type %q", o.Type)
	}
	if o.Check == nil {
		return nil
	}
	if err := o.Check(checked); err != nil {
		return wrong("%s", err.Error())
	}
	return nil
}

func exampleOf(o Option) string {
	if o.Example == "" {
		return ""
	}
	return ", for example " + o.Example
}

// integerOf accepts every form a whole number takes after decoding. Beyond 2^53
// a float64 no longer tells neighbours apart.
func integerOf(value any) (int64, bool) {
	switch number := value.(type) {
	case float64:
		if number != math.Trunc(number) || math.Abs(number) > 1<<53 {
			return 0, false
		}
		return int64(number), true
	case int:
		return int64(number), true
	case int64:
		return number, true
	case json.Number:
		whole, err := number.Int64()
		return whole, err == nil
	default:
		return 0, false
	}
}

// stringsOf returns the strings of a decoded list, or why it is not one.
func stringsOf(value any) (list []string, reason string) {
	switch given := value.(type) {
	case nil:
		return nil, ""
	case []string:
		list = slices.Clone(given)
	case []any:
		for _, entry := range given {
			text, ok := entry.(string)
			if !ok {
				return nil, "must be a list of strings, one entry is " + jsonTypeOf(entry)
			}
			list = append(list, text)
		}
	default:
		return nil, "must be a list of strings, not " + jsonTypeOf(value)
	}
	if len(list) > maxListEntries {
		return nil, fmt.Sprintf("has %d entries, at most %d are allowed", len(list), maxListEntries)
	}
	for _, entry := range list {
		if entry == "" {
			return nil, "has an empty entry"
		}
		if reason := badText(entry); reason != "" {
			return nil, reason
		}
	}
	return list, ""
}

func badText(text string) string {
	switch {
	case len(text) > maxValueBytes:
		return fmt.Sprintf("is longer than %d bytes", maxValueBytes)
	case !utf8.ValidString(text):
		return "is not valid UTF-8"
	// A pasted private key has line breaks; no field has any other control
	// character.
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' }):
		return "has a control character in it"
	default:
		return ""
	}
}

func jsonTypeOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "true or false"
	case float64, int, int64, json.Number:
		return "a number"
	case []any, []string:
		return "a list"
	case map[string]any:
		return "an object"
	default:
		return fmt.Sprintf("a %T", value)
	}
}

// printable makes a name chosen by a client fit for a message.
func printable(name string) string {
	const longest = 64
	cleaned := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != utf8.RuneError {
			return r
		}
		return '?'
	}, name)
	if runes := []rune(cleaned); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return cleaned
}
